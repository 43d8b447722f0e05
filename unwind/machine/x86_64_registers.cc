#include <algorithm>
#include <array>

#include "unwind/machine/registers.h"

namespace oddrank::unwind {
namespace {

constexpr std::array kKeptNumbers = {UNW_X86_64_RBX, UNW_X86_64_R12, UNW_X86_64_R13, UNW_X86_64_R14,
                                     UNW_X86_64_R15};
constexpr std::array kArguments = {UNW_X86_64_RDI, UNW_X86_64_RSI, UNW_X86_64_RDX,
                                   UNW_X86_64_R10, UNW_X86_64_R8,  UNW_X86_64_R9};
constexpr std::array<int, 6> kAllKept = {UNW_X86_64_RBX, UNW_X86_64_RBP, UNW_X86_64_R12,
                                         UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15};

}  // namespace

RegisterName name_of_register(int number) {
  switch (number) {
    case UNW_X86_64_RIP:
      return {RegisterRole::kPc};
    case UNW_X86_64_RSP:
      return {RegisterRole::kSp};
    case UNW_X86_64_RBP:
      return {RegisterRole::kFramePointer};
    default:
      break;
  }
  const auto* const kept = std::find(kKeptNumbers.begin(), kKeptNumbers.end(), number);
  if (kept != kKeptNumbers.end()) {
    return {RegisterRole::kKept, static_cast<std::size_t>(kept - kKeptNumbers.begin())};
  }
  const auto* const argument = std::find(kArguments.begin(), kArguments.end(), number);
  if (argument != kArguments.end()) {
    return {RegisterRole::kArgument, static_cast<std::size_t>(argument - kArguments.begin())};
  }
  return {};
}

std::span<const int> kept_registers() {
  return kAllKept;
}

int frame_pointer_register() {
  return UNW_X86_64_RBP;
}

std::uint64_t signature_of(const attach::Registers& /*registers*/) {
  return 0;
}

// libunwind 1.6 marks the frame that the signal interrupted, not the trampoline.
bool led_out_of_signal(unw_cursor_t& /*before*/, unw_cursor_t& after) {
  return unw_is_signal_frame(&after) > 0;
}

SignalFrame signal_frame() {
  return {296, 304};
}

// struct ucontext begins with flags, link and stack (40 bytes); then come the registers, first of
// all r8 to r15 (uapi/asm/sigcontext.h).
std::optional<attach::Registers> interrupted_registers(std::uint64_t stack_pointer,
                                                       UnwindMemory& memory) {
  constexpr std::uint64_t kFirstRegister = 40;
  std::array<std::uint64_t, 17> saved{};
  if (!memory.read(stack_pointer + kFirstRegister, std::as_writable_bytes(std::span(saved)))) {
    return std::nullopt;
  }
  attach::Registers registers;
  registers.all = true;
  registers.frame_pointer = saved[10];
  registers.sp = saved[15];
  registers.pc = saved[16];
  registers.kept = {saved[11], saved[4], saved[5], saved[6], saved[7]};
  return registers;
}

bool has_false_steps() {
  return false;
}

}  // namespace oddrank::unwind
