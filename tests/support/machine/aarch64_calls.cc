#include <sys/syscall.h>

#include "tests/support/calls.h"

namespace oddrank::test {

const long kPauseCall = SYS_ppoll;
const long kPollCall = SYS_ppoll;
const long kEpollWaitCall = SYS_epoll_pwait;
const long kVforkCall = SYS_clone;
const bool kReturnAddressInMemory = false;

}  // namespace oddrank::test
