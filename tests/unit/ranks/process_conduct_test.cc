#include "ranks/process_conduct.h"

#include <sys/syscall.h>

#include <initializer_list>
#include <utility>

#include "tests/support/calls.h"
#include "tests/support/catch.h"

namespace oddrank::ranks {
namespace {

Conduct conduct(std::initializer_list<std::pair<char, long>> threads, bool child_files = false) {
  std::vector<attach::ThreadState> states;
  for (const auto& [state, number] : threads) {
    attach::ThreadState thread;
    thread.state = state;
    if (number >= 0) {
      thread.syscall = attach::SyscallState{number, {}};
    }
    states.push_back(thread);
  }
  return conduct_of(states, child_files);
}

TEST_CASE("a process that only waits for a child") {
  CHECK(conduct({{'S', SYS_wait4}}) == Conduct::kWaitsForChild);
  CHECK(conduct({{'S', SYS_futex}, {'S', SYS_waitid}}) == Conduct::kWaitsForChild);
  CHECK(conduct({{'S', test::kEpollWaitCall}}, true) == Conduct::kWaitsForChild);
  CHECK(conduct({{'S', test::kEpollWaitCall}}) == Conduct::kIdle);
  CHECK(conduct({{'S', SYS_futex}, {'S', SYS_clock_nanosleep}}, true) == Conduct::kIdle);
}

TEST_CASE("a process that does something else") {
  CHECK(conduct({{'S', SYS_wait4}, {'R', -1}}) == Conduct::kWorks);
  CHECK(conduct({{'D', SYS_wait4}}) == Conduct::kWorks);
  CHECK(conduct({{'S', SYS_wait4}, {'S', SYS_recvfrom}}) == Conduct::kWorks);
  CHECK(conduct({{'S', -1}}) == Conduct::kWorks);
  CHECK(conduct({}) == Conduct::kUnknown);
}

}  // namespace
}  // namespace oddrank::ranks
