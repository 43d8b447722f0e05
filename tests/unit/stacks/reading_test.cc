#include "stacks/reading.h"

#include <sys/syscall.h>

#include <initializer_list>

#include "tests/support/calls.h"
#include "tests/support/catch.h"

namespace oddrank::stacks {
namespace {

attach::ThreadState thread_in(char state, std::int64_t call) {
  attach::ThreadState thread;
  thread.state = state;
  thread.syscall = attach::SyscallState{call, {}};
  return thread;
}

TEST_CASE("stop_choice: calls that the kernel restarts, and those that fail") {
  using Calls = std::initializer_list<long>;
  for (const long call :
       Calls{SYS_futex, test::kPollCall, SYS_clock_nanosleep, SYS_wait4, test::kPauseCall}) {
    CAPTURE(call);
    CHECK(may_be_stopped(thread_in('S', call)));
    CHECK_FALSE(must_be_spared(thread_in('S', call)));
  }
  // read() and ioctl() may be a driver's.
  for (const long call :
       Calls{test::kEpollWaitCall, SYS_epoll_pwait, SYS_recvfrom, SYS_rt_sigtimedwait, SYS_semop,
             SYS_semtimedop, SYS_io_getevents, SYS_read, SYS_ioctl}) {
    CAPTURE(call);
    CHECK_FALSE(may_be_stopped(thread_in('S', call)));
    CHECK(must_be_spared(thread_in('S', call)));
  }
}

TEST_CASE("stop_choice: by state") {
  attach::ThreadState thread;
  thread.state = 'R';
  CHECK(may_be_stopped(thread));
  for (const char state : {'D', 't', 'Z', 'X', 'I', '?'}) {
    CAPTURE(state);
    thread.state = state;
    CHECK_FALSE(may_be_stopped(thread));
  }
  CHECK(may_be_stopped(thread_in('T', test::kEpollWaitCall)));
  CHECK_FALSE(must_be_spared(thread_in('T', test::kEpollWaitCall)));
  CHECK_FALSE(may_be_stopped(thread_in('D', SYS_futex)));
}

}  // namespace
}  // namespace oddrank::stacks
