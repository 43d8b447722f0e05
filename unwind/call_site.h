// What machine code says about a return address: does a call stand before it, and whom does it
// call?
#pragma once

#include <cstdint>
#include <optional>

#include "unwind/unwind_memory.h"

namespace oddrank::unwind {

enum class CallKind : std::uint8_t { kNone, kDirect, kIndirect };

struct CallSite {
  CallKind kind = CallKind::kNone;
  std::uint64_t target = 0;  // kDirect: where it goes, behind a stub of the linker (PLT)
};

// Looks at the bytes before `return_address`. Code has no marks of where instructions begin, so
// that kIndirect can be chance; so can kDirect, but then its target is no function that matters.
CallSite call_before(std::uint64_t return_address, UnwindMemory& memory);

}  // namespace oddrank::unwind
