// Jobs of which only cores are left: who crashed, and who was ended afterwards.
#include <csignal>

#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::Crash;
using snapshot::WaitOn;

namespace {

constexpr pid_t kLauncher = 4001;
constexpr std::int32_t kTkill = -6;  // SI_TKILL: abort() sends the signal to its own thread
constexpr std::int32_t kUser = 0;    // SI_USER: kill()

Frames forward(std::uint32_t line) {
  return program_at("moe/train.py", {{"forward", line}, {"main", 120}, {"<module>", 141}});
}

// Makes cores of a job: the launcher has ended every rank that did not end itself.
CaptureBuilder cores_of(CaptureBuilder job) {
  job.capture.job.source = snapshot::JobSource::kCore;
  for (auto& process : job.capture.processes) {
    process.crash = snapshot::Crash{SIGTERM, kUser, 0, process.pid, kLauncher, {}};
  }
  return job;
}

Crash fault(int signal, std::int32_t code, std::uint64_t address, pid_t tid) {
  return {signal, code, address, tid, 0, {}};
}

Crash abort_of(CaptureBuilder& job, pid_t pid, pid_t tid, std::string_view said) {
  return {SIGABRT, kTkill, 0, tid, pid, job.capture.tables.string(said)};
}

CaptureBuilder fault_in_a_kernel() {
  CaptureBuilder job =
      cores_of(job_of(2, 4, Backend::kGloo, in_gloo(world_call("all_reduce"), forward(88))));
  replace(job, 5, running(Frames{in_torch("at::native::cpublas::gemm")} + forward(61), 0));
  job.process(pid_of(5)).crash = fault(SIGSEGV, 1, 0x7f20'0000'0000, pid_of(5));
  return job;
}

// The decider of the rank is in the same call as all others; a thread beside it has crashed.
CaptureBuilder fault_beside_the_call() {
  CaptureBuilder job =
      cores_of(job_of(1, 4, Backend::kGloo, in_gloo(world_call("all_reduce"), forward(88))));
  add_thread(job, 2, 7410,
             running(Frames{in_libc("__memmove_avx512_unaligned_erms"),
                            std_py("threading.py", "Thread.run", 982)},
                     0));
  job.process(pid_of(2)).crash = fault(SIGBUS, 2, 0x7f31'0000'2000, 7410);
  return job;
}

CaptureBuilder damaged_heap() {
  CaptureBuilder job =
      cores_of(job_of(2, 4, Backend::kNccl, in_nccl_call(world_call("all_gather"), forward(88))));
  replace(job, 1, running(Frames{in_libc("abort"), in_libc("malloc_printerr")} + forward(64), 0));
  job.process(pid_of(1)).crash = abort_of(job, pid_of(1), pid_of(1), "free(): invalid pointer");
  return job;
}

// PyTorch's watchdog aborts the ranks that have waited; the one they waited for reads a file.
CaptureBuilder aborted_by_watchdogs() {
  CaptureBuilder job =
      cores_of(job_of(1, 4, Backend::kNccl, in_nccl_call(world_call("all_gather"), forward(88))));
  for (const std::int32_t rank : {0, 1, 2}) {
    job.process(pid_of(rank)).crash =
        abort_of(job, pid_of(rank), pid_of(rank) + 1, "c10::DistBackendError");
  }
  ThreadSpec reads = blocked(WaitOn::kFile, "read", Frames{in_libc("__GI___read")} + forward(40));
  reads.wait.path = "/lustre/tokens/00031.bin";
  reads.state = 'D';
  replace(job, 3, reads);
  return job;
}

// The launcher has told it to end, and it crashed on its way.
CaptureBuilder crash_on_the_way_out() {
  CaptureBuilder job =
      cores_of(job_of(1, 4, Backend::kGloo, in_gloo(world_call("all_reduce"), forward(88))));
  replace(job, 0,
          running(Frames{in_interpreter("Py_FinalizeEx"), in_interpreter("Py_RunMain")}, 0));
  auto& process = job.process(pid_of(0));
  process.ending = snapshot::Ending::kAfterException;
  process.crash = fault(SIGSEGV, 1, 0, pid_of(0));
  return job;
}

}  // namespace

std::vector<Story> stories_of_crashes() {
  return {
      {"fault_in_a_kernel", "cores after srun's kill", Kind::kCrashedRank, {5}, fault_in_a_kernel},
      {"fault_beside_the_call",
       "a thread that pins memory meets a truncated file",
       Kind::kCrashedRank,
       {2},
       fault_beside_the_call},
      {"damaged_heap", "glibc's abort()", Kind::kCrashedRank, {1}, damaged_heap},
      {"aborted_by_watchdogs",
       "G2: a watchdog ended those that waited",
       Kind::kIoStall,
       {3},
       aborted_by_watchdogs,
       Kind::kCrashedRank},
      {"crash_on_the_way_out",
       "a destructor after an exception",
       Kind::kFailedRank,
       {0},
       crash_on_the_way_out,
       Kind::kCrashedRank},
  };
}

}  // namespace oddrank::tests
