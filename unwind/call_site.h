// What machine code says about a return address: whether a call precedes it, and what it calls.
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

// Reads the bytes before `return_address`. Code has no marks of where instructions begin, so
// kIndirect may be chance. So may kDirect, but then its target is not a function that is searched
// for.
CallSite call_before(std::uint64_t return_address, UnwindMemory& memory);

}  // namespace oddrank::unwind
