#include "ranks/process_activity.h"

#include <sys/syscall.h>

#include <initializer_list>
#include <utility>

#include "tests/support/calls.h"
#include "tests/support/catch.h"

namespace oddrank::ranks {
namespace {

Activity activity(std::initializer_list<std::pair<char, long>> threads, bool child_files = false) {
  std::vector<attach::ThreadState> states;
  for (const auto& [state, number] : threads) {
    attach::ThreadState thread;
    thread.state = state;
    if (number >= 0) {
      thread.syscall = attach::SyscallState{number, {}};
    }
    states.push_back(thread);
  }
  return activity_of(states, child_files);
}

TEST_CASE("a process that only waits for a child") {
  CHECK(activity({{'S', SYS_wait4}}) == Activity::kWaitsForChild);
  CHECK(activity({{'S', SYS_futex}, {'S', SYS_waitid}}) == Activity::kWaitsForChild);
  CHECK(activity({{'S', test::kEpollWaitCall}}, true) == Activity::kWaitsForChild);
  CHECK(activity({{'S', test::kEpollWaitCall}}) == Activity::kIdle);
  CHECK(activity({{'S', SYS_futex}, {'S', SYS_clock_nanosleep}}, true) == Activity::kIdle);
}

TEST_CASE("a process that does something else") {
  CHECK(activity({{'S', SYS_wait4}, {'R', -1}}) == Activity::kWorks);
  CHECK(activity({{'D', SYS_wait4}}) == Activity::kWorks);
  CHECK(activity({{'S', SYS_wait4}, {'S', SYS_recvfrom}}) == Activity::kWorks);
  CHECK(activity({{'S', -1}}) == Activity::kWorks);
  CHECK(activity({}) == Activity::kUnknown);
}

}  // namespace
}  // namespace oddrank::ranks
