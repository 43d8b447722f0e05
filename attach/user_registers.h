// What the kernel says about a stopped or dead thread (ptrace, core files), in our types. Each
// machine has its own source, machine/NAME.cc.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "attach/target.h"

namespace oddrank::attach {

// The system call that a thread was in or is returning from, as its registers show.
struct LastCall {
  std::int64_t number = -1;  // -1: none
  std::array<std::uint64_t, 6> arguments{};
  std::int64_t result = 0;  // as the kernel had set it
};

// Everything that ptrace says about a stopped thread.
struct StoppedRegisters {
  Registers registers;
  LastCall call;
};

// Reads the registers of a thread that we trace and that has stopped; nullopt if it is gone.
std::optional<StoppedRegisters> read_registers(pid_t tid);

// Converts the general registers of a core file's note. Other notes have the rest.
StoppedRegisters registers_of(const user_regs_struct& from);

// Adds the contents of a core file's note of this type, named "LINUX", to the thread before it.
void add_register_note(std::uint32_t type, std::span<const std::byte> body, Registers& into);

// Reads four bytes of the target's code; nullopt if they cannot be read.
using ReadCode = std::function<std::optional<std::uint32_t>(std::uint64_t address)>;

// Returns the call that the thread is still in, although a signal or a stop woke it, since the
// kernel will restart it; sets the program counter to its value during the call. `died`: the signal
// may also have ended the process (a core file). nullopt: it is in none. The call may be
// restart_syscall (restarted_call.h).
std::optional<SyscallState> settle_call(StoppedRegisters& stopped, const ReadCode& code, bool died);

}  // namespace oddrank::attach
