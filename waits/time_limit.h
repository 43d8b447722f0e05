// The time after which a blocked call returns by itself: poll, a lock's timed wait, a sleep. A loop
// around such calls looks like an endless wait; a long sleep looks like a hang.
#pragma once

#include <cstdint>
#include <optional>

#include "waits/syscall_table.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

// Returns the argument that is a time limit, or points to one; nullopt if there is none.
// Precondition: the thread's system call is known.
std::optional<std::uint64_t> limit_argument(const WaitContext& context, const SyscallInfo& info);

// Sets `limited` and `limit_ms`. The longest wait of event loops, a day, is no limit. Sources: the
// man-pages of the calls; of futex(2), FUTEX_WAIT has a relative limit, other operations a time on
// a clock. True for glibc 2.31 to 2.42 and musl 1.2.
void read_time_limit(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait);

}  // namespace oddrank::waits
