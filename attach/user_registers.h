// What the kernel hands out as struct user_regs_struct (ptrace, core files) in our words.
#pragma once

#include <sys/user.h>

#include <array>
#include <cstdint>

#include "attach/target.h"

namespace oddrank::attach {

// All of them that Registers has.
Registers registers_of(const user_regs_struct& from);

// The arguments of the system call that the thread is in, or comes back from.
std::array<std::uint64_t, 6> syscall_arguments(const user_regs_struct& from);

}  // namespace oddrank::attach
