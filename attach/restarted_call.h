// The real system call of a thread for which the kernel shows restart_syscall: after a stop
// (SIGSTOP and SIGCONT, or a tracer's) the kernel restarts a call with a time limit under that
// number. The arguments are still the call's own.
//
// Source: arch/x86/kernel/signal.c, get_nr_restart_syscall(); arch/arm64/kernel/signal.c,
// setup_restart_syscall(); the calls that set a restart block: poll, nanosleep, futex (with a time
// limit), clock_nanosleep (Linux 4 to 6.18).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/target.h"

namespace oddrank::attach {

// Returns the numbers that the code may load into the register of the system call's number, the
// last first. The code must end with the system call instruction. Each machine's are in
// machine/NAME.cc.
std::vector<std::int64_t> loaded_numbers(std::span<const std::byte> code);

// Bytes of code to read before the program counter.
inline constexpr std::size_t kRestartedCodeBytes = 64;

// Returns the call's own number: what the code loads into the number's register, or the only call
// that the arguments fit; nullopt if that is not clear. `code` ends right before the program
// counter.
std::optional<std::int64_t> restarted_call(std::span<const std::byte> code,
                                           const SyscallState& call);

// Replaces restart_syscall by the call's own number in a thread's state, if it can be told. Reads
// the target's code.
void name_restarted_call(const Target& target, ThreadState& thread);

}  // namespace oddrank::attach
