// Ranks that wait for each other otherwise than in calls of a communicator: servers and clients.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::WaitOn;

namespace {

ThreadSpec at_rest() {
  return blocked(WaitOn::kUnknown, "clock_nanosleep",
                 python_sleep() + program_at("rl/actor.py", {{"back_off", 31}, {"<module>", 60}}));
}

ThreadSpec asks(std::int32_t server) {
  ThreadSpec spec =
      blocked(WaitOn::kSocket, "recvfrom",
              Frames{in_libc("__libc_recv")} +
                  program_at("rl/learner.py", {{"Client.ask", 44}, {"<module>", 80}}));
  spec.wait.holder_pid = pid_of(server);
  spec.wait.holder_alive = snapshot::Known::kYes;
  return spec;
}

CaptureBuilder three_ranks() {
  CaptureBuilder job({"n0"}, 3);
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    job.thread(job.rank(rank, "n0", pid_of(rank)), asks(0));
  }
  return job;
}

// Two clients wait for the answer of a server that sleeps.
CaptureBuilder server_sleeps() {
  CaptureBuilder job = three_ranks();
  replace(job, 0, at_rest());
  return job;
}

// The same, by a named pipe.
CaptureBuilder writer_sleeps() {
  CaptureBuilder job = three_ranks();
  replace(job, 0, at_rest());
  for (const std::int32_t rank : {1, 2}) {
    ThreadSpec reads = asks(0);
    reads.wait.on = WaitOn::kPipe;
    reads.wait.path = "/run/job/tokens";
    replace(job, rank, reads);
  }
  return job;
}

// The server waits for an item of a queue of its own; no thread of it is left to put one there.
CaptureBuilder waits_in_vain() {
  CaptureBuilder job = three_ranks();
  ThreadSpec waits =
      blocked(WaitOn::kLock, "futex",
              futex_wait() + program_at("rl/hub.py", {{"Hub.next", 52}, {"<module>", 90}}));
  waits.wait.how = snapshot::WaitHow::kPythonLock;
  replace(job, 0, waits);
  return job;
}

// Three ranks wait for keys of the store, each at a place of its own. The fourth asks its own event
// again and again, which no thread is left to set; and for what else these calls ask.
CaptureBuilder asks_its_own_event(const std::vector<std::string_view>& calls) {
  const Frames wait = {in_libc("poll"), in_torch("c10d::TCPStore::doWait"),
                       in_torch("c10d::TCPStore::wait")};
  const auto waits_at = [&wait](std::uint32_t line) {
    ThreadSpec spec = blocked(WaitOn::kSocket, "poll",
                              wait + program_at("rl/score.py", {{"main", line}, {"<module>", 90}}));
    spec.wait.limited = true;
    return spec;
  };
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, waits_at(44));
  replace(job, 0, waits_at(40));
  replace(job, 3, waits_at(47));
  const Frames inside = futex_wait() + Frames{std_py("threading.py", "Condition.wait", 324),
                                              std_py("threading.py", "Event.wait", 622)};
  ThreadSpec asks = blocked(WaitOn::kLock, "futex",
                            inside + program_at("rl/score.py", {{"go", 25}, {"<module>", 90}}));
  asks.wait.how = snapshot::WaitHow::kPythonLock;
  asks.wait.limited = true;
  replace(job, 2, asks);
  snapshot::PythonLoop& loop = job.process(pid_of(2)).threads.front().loops.emplace_back();
  loop.frame = static_cast<std::uint32_t>(inside.size());
  for (const std::string_view call : calls) {
    loop.calls.push_back({job.capture.tables.string(call)});
  }
  return job;
}

CaptureBuilder asks_in_vain() {
  return asks_its_own_event({"builtins.print", "threading.Event.wait"});
}

CaptureBuilder asks_for_a_file_too() {
  return asks_its_own_event({"genericpath.exists", "threading.Event.wait"});
}

// The same rest, but the others wait for it in a collective.
CaptureBuilder rests_before_a_collective() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kGloo,
             in_gloo(world_call("all_reduce"), program_at("rl/learner.py", {{"<module>", 80}})));
  replace(job, 3, at_rest());
  return job;
}

}  // namespace

std::vector<Story> stories_of_servers() {
  return {
      {"server_sleeps", "a parameter server that backs off", Kind::kStuckRank, {0}, server_sleeps},
      {"writer_sleeps", "tokens by a named pipe", Kind::kStuckRank, {0}, writer_sleeps},
      {"waits_in_vain",
       "a loader thread that was never started",
       Kind::kStuckRank,
       {0},
       waits_in_vain},
      {"asks_in_vain",
       "the thread that should set the event has died",
       Kind::kStuckRank,
       {2},
       asks_in_vain},
      {"asks_for_a_file_too",
       "its event only lets it rest",
       Kind::kUnknown,
       {},
       asks_for_a_file_too,
       Kind::kStuckRank},
      {"before_a_collective",
       "hangs.md A2",
       Kind::kSkippedCollective,
       {3},
       rests_before_a_collective,
       Kind::kStuckRank},
  };
}

}  // namespace oddrank::tests
