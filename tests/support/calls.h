// The system calls that pause(), poll(), epoll_wait() and vfork() make; newer machines have fewer
// of them.
#pragma once

namespace oddrank::test {

extern const long kPauseCall;
extern const long kPollCall;
extern const long kEpollWaitCall;
extern const long kVforkCall;

}  // namespace oddrank::test
