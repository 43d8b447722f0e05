// A CPython runtime inside a target: its version, its threads, their frames, the GIL. It is read
// from memory without stopping the process; every list is bounded, every length is checked.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "cpython/bytecode/frame_loops.h"
#include "cpython/objects/contents.h"
#include "cpython/objects/ray_ids.h"
#include "cpython/python_memory.h"
#include "cpython/python_sample.h"
#include "elf/elf_image.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

struct PythonLocal {
  std::string name;
  std::string value;    // "1207", "None", "'train'", "<Tensor>"; may be cut; secrets masked
  bool masked = false;  // the texts within are masked, too (objects/contents.h)
};

// The locals that are read.
enum class Locals : std::uint8_t {
  kNone,
  // Locals that show loop skew or the collective that a thread is in: numbers, bools, None and
  // texts of the main thread and of threads in torch.distributed, and arguments of the latter's
  // functions.
  kFew,
  kDeciding,  // the same, and the loops and places of frames
  kAll,       // of all threads; lists, dicts, arrays and objects as summaries
};

inline constexpr std::size_t kMaxFramesWithLoops = 6;    // the innermost of each thread
inline constexpr std::size_t kMaxFramesWithPlaces = 32;  // the same, without torch.distributed's

struct PythonFrame {
  std::string function;  // known_call.h; qualified name from 3.11 on, else the name
  std::string file;
  std::uint32_t line = 0;  // 0 = unknown
  bool entry = false;      // an evaluation loop was entered for this frame
  // false: the frame's code object could not be read ("<unreadable>"), or an evaluation loop has no
  // frame because the objects of a popped one are being destroyed ("<leaving a function>").
  bool readable = true;
  std::vector<PythonLocal> locals;
  // The loops around its current instruction, innermost first (bytecode/frame_loops.h). Only for
  // the innermost frames, from kDeciding on.
  std::vector<FrameLoop> loops;
  // Only for the innermost frames of threads whose locals are read, from kDeciding on.
  std::optional<FramePlace> place;
};

struct PythonThread {
  // In the target's pid namespace; 0 = exited or unknown. A state left behind by a fork() has a tid
  // that is not a thread of the target.
  pid_t target_tid = 0;
  std::uint64_t pthread = 0;  // Python's identifier of the thread
  std::string name;           // of threading.Thread; "" if unknown
  bool holds_gil = false;
  bool collects = false;         // garbage; false also if uncertain
  std::int8_t generation = -1;   // that its interpreter collects; -1 = none or unknown
  bool finalizes = false;        // it shuts the interpreter down
  std::int64_t gil = 0;          // which one: Gil::interpreter of its GIL
  std::int64_t interpreter = 0;  // id, of the innermost frame's interpreter; 0 = the main one
  // Innermost first; shims are left out. A row with only a name marks where a signal handler was
  // called: "<signal SIGTERM delivered here>", between the handler and the frame below. Likewise
  // "<interpreter 2 called here>" below the frames of an interpreter that another called.
  std::vector<PythonFrame> frames;
  bool cut = false;       // the chain was longer than kMaxFrames, or broken
  bool too_long = false;  // cut because it was longer
  // The number of frames whose locals were not read in spite of Locals::kAll: there are too many.
  std::size_t without_locals = 0;
  // The chain ends where the thread's stack ends, and all functions are known. If false, and it is
  // not cut, the thread ran meanwhile.
  bool whole = false;
};

enum class TaskState : std::uint8_t { kUnknown, kNotStarted, kWaits, kRuns, kEnded, kParked };

inline constexpr std::size_t kMaxTaskSockets = 8;

// The connections of a task (tasks/find_tasks.h), as descriptors.
struct TaskSockets {
  int awaited = -1;       // the one that the library's innermost coroutine uses
  std::vector<int> kept;  // those in variables, in order; may have `awaited`
};

// An unfinished task of asyncio or trio, or a parked greenlet.
struct PythonTask {
  // "Task-7", or as the program named it, with a number if several have that name; "" if unknown,
  // and for a greenlet.
  std::string name;
  TaskState state = TaskState::kUnknown;  // kParked: a greenlet, which has only frames
  bool trio = false;                      // a task of trio; else of asyncio
  // Its coroutine and the coroutines that this one awaits, innermost first; only the former if the
  // task runs: the rest are frames of a thread. `entry` means nothing here.
  std::vector<PythonFrame> frames;
  bool cut = false;  // it has more than kMaxAwaits: the innermost are missing
  // What the innermost frame awaits: the name of a task, perhaps because that task has the wanted
  // lock; "<Future>", "<_GatheringFuture>"; "" if it awaits something else.
  std::string awaits;
  std::optional<RayObject> object;  // of Ray, behind the awaited future
  // If it awaits a future that waits for others (await_members.h): the unfinished ones, tasks
  // first, each in the form of `awaits`.
  std::vector<std::string> members;
  bool members_cut = false;  // there are more
  // The thread that waits for the task (tasks/task_threads.h), in the target's pid namespace; 0:
  // none is known.
  pid_t target_tid = 0;
  pid_t worker_tid = 0;  // the pool's thread that the task waits for; likewise
  pid_t loop_tid = 0;    // the thread that runs its event loop; likewise
  TaskSockets sockets;   // of a task that waits
};

// The parts that a sample left out.
struct PythonCuts {
  std::size_t threads = 0;    // beyond kMaxThreads; not the main thread
  bool interpreters = false;  // there are more than kMaxInterpreters
};

// One GIL, and the words in it that threads wait on.
struct Gil {
  std::int64_t interpreter = 0;  // id of the first that uses it
  elf::ElfRange words;
};

struct Runtime;

class PythonProcess {
 public:
  // Finds the CPython of a target. kNotFound: it has none, a normal answer. kUnsupported: it cannot
  // be read here; `what` names its version. kBadData: it cannot be read now (it starts up or shuts
  // down). Both arguments must outlive the object.
  static Result<PythonProcess> find(const attach::Target& target, elf::ModuleMap& modules);
  // Makes the process from a runtime that was found before (detect.h).
  static PythonProcess of(const attach::Target& target, elf::ModuleMap& modules, Runtime runtime);

  PythonProcess(PythonProcess&&) noexcept;
  PythonProcess& operator=(PythonProcess&&) noexcept;
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;
  ~PythonProcess();

  // Returns whether Python was finalized before it was found: then it has no threads, and all
  // running code is native.
  bool finalized() const;
  // Returns the other CPythons of the process, which are not read: "3.9.2 of /opt/libpython3.9.so".
  const std::vector<std::string>& others() const;
  // Returns "3.11.7"; "3.14.0t" for a free-threaded build.
  const std::string& version() const;
  // Returns the address ranges (absolute, in the target) of the evaluation loop's code: a native
  // frame whose pc lies in one is an evaluation.
  std::vector<elf::ElfRange> evaluation_ranges() const;
  // Returns the GILs: one up to 3.11, later one for each interpreter with its own; none if a
  // free-threaded build runs without it. A thread that waits on a futex in the range of words wants
  // that GIL.
  std::vector<Gil> gils() const;

  // Takes a sample of all Python threads of all interpreters. A thread that runs several
  // interpreters, one called by the other, is one row with the frames of all, the newest first.
  // Locals are bounded in number, length and depth. `contents`: how much Locals::kAll shows.
  // `live`: known tids of the target's threads, in its pid namespace, so that stale tids are
  // noticed (kernel_tid.h).
  Result<std::vector<PythonThread>> threads(Locals locals,
                                            ContentsOptions contents = {},
                                            std::span<const pid_t> live = {}) const;

  // Returns the parts that the last call of threads() left out.
  PythonCuts cuts() const;

  // Returns the tasks of asyncio, of all interpreters, and those of trio, and, if wanted, the
  // parked greenlets, sorted by name; bounded (tasks/). Greenlets are searched for among all
  // objects. The threads that wait for tasks, and trio's tasks, come from the last sample; without
  // one they are unknown.
  Result<std::vector<PythonTask>> tasks(bool greenlets = true) const;

  // Returns whether the frames of this thread in the last sample are its stack at one moment during
  // this call (chain_check.h). False after release_sample().
  bool stands(pid_t target_tid) const;

  // Hands over the sample that the last call of threads() took; a second call returns nullopt.
  std::optional<PythonSample> release_sample();

  // Returns the memory to read other objects from (attributes.h). Nothing of it has been read yet;
  // the target must outlive it.
  PythonMemory memory() const;
  // Returns the main interpreter; null if it cannot be read.
  attach::Addr main_interpreter() const;

 private:
  struct Impl;
  explicit PythonProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oddrank::cpython
