#include <sys/syscall.h>

#include "tests/support/calls.h"

namespace oddrank::test {

const long kPauseCall = SYS_pause;
const long kPollCall = SYS_poll;
const long kEpollWaitCall = SYS_epoll_wait;
const long kVforkCall = SYS_vfork;
const bool kReturnAddressInMemory = true;

}  // namespace oddrank::test
