// Converts the kernel's struct user_regs_struct (ptrace, core files) to our types.
#pragma once

#include <sys/user.h>

#include <array>
#include <cstdint>

#include "attach/target.h"

namespace oddrank::attach {

// Returns all members of Registers.
Registers registers_of(const user_regs_struct& from);

// Returns the arguments of the system call that the thread is in or returning from.
std::array<std::uint64_t, 6> syscall_arguments(const user_regs_struct& from);

// Returns whether the value that a system call is about to return means that a signal, or a stop,
// woke the thread and the kernel will restart the call: the internal numbers ERESTARTSYS (512) to
// ERESTART_RESTARTBLOCK (516) of include/linux/errno.h, which no program ever sees. The thread is
// still in that call.
bool is_restarted(std::int64_t result);

}  // namespace oddrank::attach
