// Ranks that wait for each other in a circle of different things.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::CallKind;
using snapshot::Known;
using snapshot::WaitOn;

namespace {

Frames main_loop(std::uint32_t line) {
  return program_at("lm/pretrain.py", {{"run", line}, {"main", 210}, {"<module>", 220}});
}

ThreadSpec on_file_lock(pid_t holder) {
  ThreadSpec waits =
      blocked(WaitOn::kFileLock, "flock",
              Frames{in_libc("flock"), in_interpreter("fcntl_flock")} + main_loop(88));
  waits.wait.path = "/shared/cache/tokens.lock";
  waits.wait.holder_pid = holder;
  waits.wait.holder_alive = Known::kYes;
  return waits;
}

// Rank 0 prepares the cache under a lock, and calls barrier() before it releases the lock.
CaptureBuilder lock_and_barrier() {
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, in_gloo(world_call("barrier"), main_loop(91)));
  replace(job, 2, on_file_lock(pid_of(0)));
  return job;
}

// Rank 3 receives from rank 0, which is in the all_reduce that comes after its send.
CaptureBuilder receive_and_all_reduce() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kGloo, in_gloo(world_call("all_reduce"), main_loop(60)));
  replace(job, 3, in_gloo(transfer(CallKind::kRecv, 0), main_loop(58)));
  return job;
}

// Rank 1 requests a batch from rank 5 on another node; rank 5 is in a barrier and does not answer.
CaptureBuilder request_and_barrier() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_gloo(world_call("barrier"), main_loop(40)));
  replace(
      job, 1,
      blocked(WaitOn::kSocket, "recvfrom",
              Frames{in_libc("__libc_recv"), user_py("lm/feed.py", "ask", 31)} + main_loop(33)));
  set_peer(job, 1, "10.0.0.1:40000", "10.0.0.2:7000", {});
  auto& process = job.process(pid_of(5));
  auto& tables = job.capture.tables;
  process.connections.push_back({tables.string("10.0.0.2:7000"), tables.string("10.0.0.1:40000")});
  return job;
}

// The same circle as lock_and_barrier, but rank 3 has yet to reach the barrier: it explains all.
CaptureBuilder a_circle_with_a_way_out() {
  CaptureBuilder job = lock_and_barrier();
  replace(job, 3, blocked(WaitOn::kUnknown, "clock_nanosleep", python_sleep() + main_loop(70)));
  return job;
}

}  // namespace

std::vector<Story> stories_of_circles() {
  return {
      {"lock_and_barrier",
       "a file lock held over a barrier",
       Kind::kResourceCycle,
       {0, 2},
       lock_and_barrier},
      {"receive_and_all_reduce",
       "hangs.md A8: a receive against a collective",
       Kind::kResourceCycle,
       {0, 3},
       receive_and_all_reduce},
      {"request_and_barrier",
       "a rank that answers others between its steps",
       Kind::kResourceCycle,
       {1, 5},
       request_and_barrier},
      {"a_way_out",
       "a circle is a consequence while somebody can move",
       Kind::kSkippedCollective,
       {3},
       a_circle_with_a_way_out,
       Kind::kResourceCycle},
  };
}

}  // namespace oddrank::tests
