// What was read of one process: a rank, or a child that belongs to one (loader worker, orphan).
//
// Python frames that no thread runs now: of an unfinished task of asyncio or trio, with what it
// waits for; of a parked greenlet; of a thread that is not there any more.
//
// How a signal ended a process, as its core file tells.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/small/rare.h"
#include "base/small/slim_vector.h"
#include "snapshot/connection.h"
#include "snapshot/ids.h"
#include "snapshot/process_group.h"
#include "snapshot/thread_capture.h"
#include "snapshot/wait.h"

namespace oddrank::snapshot {

struct Crash {
  std::int32_t signal = 0;    // 0: the process is alive, or no signal ended it
  std::int32_t code = 0;      // si_code: why (sigaction(2))
  std::uint64_t address = 0;  // that could not be accessed or executed
  pid_t tid = 0;              // the thread that took the signal
  pid_t sender = 0;           // the process that sent it; 0 = the kernel, or unknown
  // What the C library said before it called abort(): a failed assertion, a damaged heap. Or which
  // C++ exception was not caught.
  StringId message{};

  // Returns whether the process caused the signal itself, by a fault or abort(). False: it was
  // ended.
  bool is_own(pid_t pid) const { return signal != 0 && (sender == 0 ? code > 0 : sender == pid); }

  bool operator==(const Crash&) const = default;
};

enum class TaskState : std::uint8_t {
  kUnknown = 0,
  kNotStarted,
  kWaits,
  kRuns,    // in some thread, whose stack has its frames
  kParked,  // a greenlet, which has only frames
  // A thread of the parent, left behind by a fork() that Python did not notice; it has a name (of
  // threading.Thread) and frames.
  kLeftBehind,
};

struct AsyncTask {
  StringId name{};  // "Task-7", or as the program named it; empty = unknown
  TaskState state = TaskState::kUnknown;
  bool trio = false;  // a task of trio; else of asyncio
  // Its coroutine and the coroutines that this one awaits, innermost first; only the former if the
  // task runs.
  StackId stack{};
  // What the innermost of them awaits: the name of a task, perhaps because that task has the wanted
  // asyncio.Lock, or a type in angle brackets ("<Future>"); empty = neither.
  StringId awaits{};
  // If it awaits a future that waits for others (asyncio.gather, wait, a TaskGroup): the unfinished
  // ones, tasks first, each like `awaits`.
  std::vector<StringId> members;
  pid_t tid = 0;       // the thread that waits for this task to end; 0: none, or unknown
  pid_t worker = 0;    // the thread of a pool whose work it waits for; 0: none, or unknown
  pid_t loop = 0;      // the thread that runs its event loop; 0: unknown
  AskedObjects asked;  // behind the future that it awaits
  SlimVector<KeptSocket> sockets;  // the connections in its variables
  bool at_socket = false;          // it waits at the first of them

  bool operator==(const AsyncTask&) const = default;
};

enum class ReadState : std::uint8_t {
  kNone = 0,  // only its existence is known; `why` says the reason
  kPartial,   // /proc gave something (state, wchan); stacks are missing or incomplete
  kFull,
};

// How far a Python process has got in exiting.
enum class Ending : std::uint8_t {
  kNone = 0,        // it is not exiting, or that is unknown
  kInOrder,         // it has left its main program
  kSystemExit,      // the same by sys.exit(); its status is unknown
  kAfterException,  // ProcessCapture::exception has ended its main program
  // Python was finalized: only native code runs. How its program ended is not known any more.
  kFinalized,
};

// What a process is in its job, by the title that it gave itself ("VLLM::EngineCore"). A controller
// has no title and no rank, and has started other processes.
enum class JobRole : std::uint8_t {
  kUnknown = 0,
  kController,  // a driver, the front of a server
  kServer,
  kEngine,
  kWorker,
  kActor,
  kService,  // infrastructure of a framework: an agent, a coordinator
};

// The order of members leaves no padding, and keeps together what a diagnosis asks of every
// process: a large job's capture has a hundred thousand of these.
struct ProcessCapture {
  std::uint32_t node = 0;  // index into Capture::nodes
  pid_t pid = 0;           // in the agent's pid namespace
  pid_t parent = 0;
  pid_t owner = 0;         // child: pid of the rank's process; rank: its own pid
  std::int32_t rank = -1;  // global; -1 = unknown (process given by pid)
  std::int32_t local_rank = -1;
  // The number of its job's rank 0: not 0 if several jobs are diagnosed as one (jobs/join_jobs.h).
  std::int32_t first_rank = 0;
  std::int32_t world_size = -1;  // as this process was configured
  // If the job has replicas that number their ranks alike: the replica, and the rank's number
  // within it; `rank` is then the number in the whole job (snapshot/replicas/number_replicas.h).
  // Else "" and -1.
  StringId replica{};
  std::int32_t replica_rank = -1;
  StringId job_key{};  // distinguishes jobs on one node: "slurm 4711.0", "n0:29500"
  StringId name{};     // comm
  StringId executable{};
  StringId command{};         // command line, cut at 4 KiB, secrets masked
  StringId actor{};           // its id in a framework of actors (Ray); empty: none or unknown
  StringId label{};           // its name for people: from its title, or its script: "train.py"
  StringId why{};             // if read is not kFull: a sentence
  StringId python_version{};  // "3.11.7"; empty: no CPython found
  // Type of the last uncaught exception: sys.last_type, "ValueError". Empty if there was none in
  // the main thread. Libraries also set it if they print an exception.
  StringId exception{};
  std::int32_t exit_code = -1;  // of a zombie, as in /proc/PID/stat field 52; -1 = none or unknown
  Rare<Crash> crash;            // of a core file
  bool is_rank = false;         // the rank's own process; false: belongs to the rank of `owner`
  char state = '?';             // of the main thread
  ReadState read = ReadState::kNone;
  // Its variables say that it belongs to `rank`, whose own process has exited; `owner` is that
  // process's pid, -1 = unknown. Never with is_rank.
  bool outlives_rank = false;
  Ending ending = Ending::kNone;
  JobRole role = JobRole::kUnknown;
  // It has a library of collectives mapped (PyTorch, NCCL, MPI, JAX, ...), or is in a group. False
  // also if unknown.
  bool communicates = false;
  // How many stops of threads all samples took; and the longest stop, from the first thread's stop
  // until the last thread continued.
  std::uint32_t stopped = 0;
  std::uint64_t longest_stop_us = 0;
  // Written between the first and the last sample, by write() and its like; -1 = unknown.
  std::int64_t written_bytes = -1;
  std::int64_t read_bytes = -1;  // likewise, by read()
  std::uint64_t start_us = 0;    // after the boot of its node
  std::uint64_t read_us = 0;     // CLOCK_REALTIME of its node when the last sample began
  // Values of a fixed list of variables (RANK, MASTER_ADDR, SLURM_STEP_ID, ...); never all of them.
  SlimVector<std::pair<StringId, StringId>> environment;
  // Versions and builds that it runs with, by names for people: "PyTorch" "2.13.0+cpu",
  // "libmpi.so.40" "build 3f2a...". Absent: unknown. Ranks of one job should agree
  // (aggregate/setup_notes.h).
  SlimVector<std::pair<StringId, StringId>> setup;
  SlimVector<Connection> connections;  // to other nodes; no order
  SlimVector<Transfer> transfers;      // that do not get through; no order
  SlimVector<ProxyTransfer> proxies;   // of NCCL; by group, peer and direction
  SlimVector<CollnetHead> heads;       // of NCCL; by rail
  SlimVector<BootstrapRoot> roots;     // of NCCL
  std::vector<ThreadCapture> threads;  // main thread first
  // Further threads that were read and are like some in `threads` (alike_threads.h). In no file.
  std::uint32_t threads_left_out = 0;
  SlimVector<AsyncTask> tasks;      // on request, and in processes that serve others
  SlimVector<ProcessGroup> groups;  // of torch.distributed, oldest first
  SlimVector<StoreKey> store;       // all keys of the store in it or in its launcher

  bool operator==(const ProcessCapture&) const = default;
};

}  // namespace oddrank::snapshot
