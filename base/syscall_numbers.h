// Numbers of system calls that not every machine has: aarch64 has only the newer form of each. A
// call that this machine lacks gets an impossible number.
#pragma once

#include <sys/syscall.h>

namespace oddrank {

inline constexpr long kNoSuchCall = -1000;

#ifdef SYS_poll
inline constexpr long kSysPoll = SYS_poll;
inline constexpr long kSysSelect = SYS_select;
inline constexpr long kSysPause = SYS_pause;
inline constexpr long kSysEpollWait = SYS_epoll_wait;
#else
inline constexpr long kSysPoll = kNoSuchCall;
inline constexpr long kSysSelect = kNoSuchCall - 1;
inline constexpr long kSysPause = kNoSuchCall - 2;
inline constexpr long kSysEpollWait = kNoSuchCall - 3;
#endif

}  // namespace oddrank
