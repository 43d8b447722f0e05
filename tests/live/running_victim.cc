#include "tests/live/running_victim.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "tests/support/calls.h"

namespace oddrank::test {

Result<RunningVictim> start_running(const std::string& mode) {
  ODDRANK_TRY(auto victim, Victim::start({victim_path("running"), mode}));
  ODDRANK_TRY(const std::string line, victim.wait_line("ready"));
  // Each thread reports when it runs.
  const int others = mode == "threads" ? 7 : mode == "handmades" ? 98 : 0;
  for (int i = 0; i < others; ++i) {
    ODDRANK_TRY_STATUS(victim.wait_line("ready"));
  }
  const auto words = split_blanks(line);
  if (words.size() != 2) {
    return fail(Errc::kBadData, "the victim said: ready " + line);
  }
  const auto tid = parse_number<pid_t>(words[1]).value_or(0);
  if (tid != victim.pid()) {
    ODDRANK_TRY_STATUS(
        victim.wait_syscall(test::kPauseCall));  // the main thread must not be stopped
  }
  return RunningVictim{std::move(victim),
                       attach::Addr{parse_number<std::uint64_t>(words[0], 16).value_or(0)}, tid};
}

Status goes_on(const RunningVictim& running) {
  ODDRANK_TRY(const auto target, attach::LiveTarget::open(running.victim.pid()));
  ODDRANK_TRY(const auto before, attach::read_object<std::uint64_t>(*target, running.counter));
  const Deadline deadline = Victim::soon();
  while (!deadline.passed()) {
    ODDRANK_TRY(const auto now, attach::read_object<std::uint64_t>(*target, running.counter));
    if (now != before) {
      return ok();
    }
    ::usleep(100);
  }
  return fail(Errc::kTimeout, "the victim does nothing any more");
}

namespace {

std::string harm_now(pid_t pid, const std::string& states) {
  const auto target = attach::LiveTarget::open(pid);
  if (!target) {
    return target.error().what;
  }
  const auto threads = (*target)->threads();
  if (!threads) {
    return threads.error().what;
  }
  for (const attach::ThreadState& thread : *threads) {
    if (states.find(thread.state) == std::string::npos || thread.tracer != 0) {
      return "thread " + std::to_string(thread.tid) + " is in state " + thread.state +
             ", traced by " + std::to_string(thread.tracer);
    }
  }
  return {};
}

}  // namespace

std::string harm_of(pid_t pid, const std::string& states) {
  const Deadline deadline = Victim::soon();
  while (true) {
    std::string harm = harm_now(pid, states);
    if (harm.empty() || deadline.passed()) {
      return harm;
    }
    ::usleep(1000);
  }
}

}  // namespace oddrank::test
