#include <algorithm>
#include <array>

#include "unwind/machine/registers.h"

namespace oddrank::unwind {
namespace {

// Signatures lie above the address. Bit 55 is part of the address (0 in programs); code is never
// mapped above 48 bits unless a program asks for that. So without the kernel's mask, this one is
// right.
constexpr std::uint64_t kUsualSignature = 0xff7f'0000'0000'0000;

constexpr std::array<int, 11> kAllKept = {UNW_AARCH64_X19, UNW_AARCH64_X20, UNW_AARCH64_X21,
                                          UNW_AARCH64_X22, UNW_AARCH64_X23, UNW_AARCH64_X24,
                                          UNW_AARCH64_X25, UNW_AARCH64_X26, UNW_AARCH64_X27,
                                          UNW_AARCH64_X28, UNW_AARCH64_X29};

}  // namespace

RegisterName name_of_register(int number) {
  switch (number) {
    case UNW_AARCH64_PC:
      return {RegisterRole::kPc};
    case UNW_AARCH64_SP:
      return {RegisterRole::kSp};
    case UNW_AARCH64_X29:
      return {RegisterRole::kFramePointer};
    case UNW_AARCH64_X30:
      return {RegisterRole::kLink};
    default:
      break;
  }
  if (number >= UNW_AARCH64_X19 && number <= UNW_AARCH64_X28) {
    return {RegisterRole::kKept, static_cast<std::size_t>(number - UNW_AARCH64_X19)};
  }
  if (number >= UNW_AARCH64_X0 && number <= UNW_AARCH64_X5) {
    return {RegisterRole::kArgument, static_cast<std::size_t>(number - UNW_AARCH64_X0)};
  }
  return {};
}

std::span<const int> kept_registers() {
  return kAllKept;
}

int frame_pointer_register() {
  return UNW_AARCH64_X29;
}

std::uint64_t signature_of(const attach::Registers& registers) {
  return registers.signature_mask != 0 ? registers.signature_mask : kUsualSignature;
}

bool led_out_of_signal(unw_cursor_t& before, unw_cursor_t& /*after*/) {
  return unw_is_signal_frame(&before) > 0;
}

// siginfo (128 bytes), then struct ucontext: flags, link, stack (40 bytes), mask.
SignalFrame signal_frame() {
  return {168, 0};
}

std::optional<attach::Registers> interrupted_registers(std::uint64_t /*stack_pointer*/,
                                                       UnwindMemory& /*memory*/) {
  return std::nullopt;
}

bool has_false_steps() {
  return true;
}

}  // namespace oddrank::unwind
