// Reads from machine code whether a call precedes a return address, and what it calls. Each machine
// has its own source, machine/NAME_calls.cc.
#pragma once

#include <cstdint>
#include <optional>

#include "unwind/unwind_memory.h"

namespace oddrank::unwind {

enum class CallKind : std::uint8_t { kNone, kDirect, kIndirect };

struct CallSite {
  CallKind kind = CallKind::kNone;
  std::uint64_t target = 0;  // kDirect: its target, past a linker stub (PLT)
};

// Reads the bytes before `return_address`. Code does not mark where instructions begin, so
// kIndirect may be chance. So may kDirect, but then its target is not a sought function.
CallSite call_before(std::uint64_t return_address, UnwindMemory& memory);

}  // namespace oddrank::unwind
