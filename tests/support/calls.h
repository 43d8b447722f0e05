// The system calls that pause(), poll(), epoll_wait() and vfork() make; newer machines have fewer
// of them.
#pragma once

namespace oddrank::test {

extern const long kPauseCall;
extern const long kPollCall;
extern const long kEpollWaitCall;
extern const long kVforkCall;

// Whether a function finds its return address in memory from its first instruction on. Otherwise it
// is in a register, which the kernel shows of stopped threads only.
extern const bool kReturnAddressInMemory;

}  // namespace oddrank::test
