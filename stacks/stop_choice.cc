#include "stacks/stop_choice.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "base/syscall_numbers.h"

namespace oddrank::stacks {
namespace {

// Only calls known to be harmless: a read() or an ioctl() may be handled by a driver, which may not
// restart it.
constexpr std::array<std::int64_t, 13> kBegunAgain = {
    SYS_clock_nanosleep, SYS_futex,    SYS_nanosleep,       kSysPause,         kSysPoll,
    SYS_ppoll,           SYS_pselect6, SYS_restart_syscall, SYS_rt_sigsuspend, SYS_sched_yield,
    kSysSelect,          SYS_wait4,    SYS_waitid};

bool is_begun_again(const attach::SyscallState& call) {
  return std::find(kBegunAgain.begin(), kBegunAgain.end(), call.number) != kBegunAgain.end();
}

}  // namespace

bool may_be_stopped(const attach::ThreadState& thread) {
  switch (thread.state) {
    case 'T':
      return true;  // its call, if any, is already due to be restarted
    case 'R':
    case 'S':
      return !thread.syscall || is_begun_again(*thread.syscall);
    default:
      return false;
  }
}

bool must_be_spared(const attach::ThreadState& thread) {
  return thread.state != 'T' && thread.syscall && thread.syscall->number >= 0 &&
         !is_begun_again(*thread.syscall);
}

}  // namespace oddrank::stacks
