// The register numbers of libunwind for our machine, and how its steps differ. Each machine has its
// own source, NAME_registers.cc. Private to unwind/.
#pragma once

#include <libunwind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "attach/target.h"
#include "unwind/unwind_memory.h"

namespace oddrank::unwind {

enum class RegisterRole : std::uint8_t {
  kOther,
  kPc,
  kSp,
  kFramePointer,
  kLink,
  kKept,      // Registers::kept
  kArgument,  // of a system call
};

struct RegisterName {
  RegisterRole role = RegisterRole::kOther;
  std::size_t index = 0;  // of kKept and kArgument
};

// Returns the register with libunwind's number; kOther for all that we do not use.
RegisterName name_of_register(int number);

// Returns the numbers of the registers that a function must preserve: frame pointer and kKept.
std::span<const int> kept_registers();

// Returns libunwind's number of the frame pointer.
int frame_pointer_register();

// Returns the bits of a code address that are not part of the address; 0 if this machine has none.
std::uint64_t signature_of(const attach::Registers& registers);

// Returns whether the step from `before` to `after` led out of the kernel's signal trampoline.
bool led_out_of_signal(unw_cursor_t& before, unw_cursor_t& after);

// Offsets in the kernel's frame for a signal (struct rt_sigframe, at the trampoline's stack
// pointer): of the mask of signals blocked before, and of the siginfo.
struct SignalFrame {
  std::uint64_t mask = 0;
  std::uint64_t info = 0;
};
// Returns them for our machine.
SignalFrame signal_frame();

// Returns the registers of the interrupted code, which the kernel saved at the trampoline's stack
// pointer; nullopt if they cannot be read, or libunwind can read them without a table.
std::optional<attach::Registers> interrupted_registers(std::uint64_t stack_pointer,
                                                       UnwindMemory& memory);

// Returns whether libunwind claims a step or an end even if tables and registers do not suffice: it
// follows the link register, or nothing.
bool has_false_steps();

}  // namespace oddrank::unwind
