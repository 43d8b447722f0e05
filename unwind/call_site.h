// Reads from machine code whether a call precedes a return address, and its target. Each machine
// has its own source, machine/NAME_calls.cc.
#pragma once

#include <cstdint>
#include <optional>

#include "elf/elf_range.h"
#include "unwind/unwind_memory.h"

namespace oddrank::unwind {

enum class CallKind : std::uint8_t { kNone, kDirect, kIndirect };

struct CallSite {
  CallKind kind = CallKind::kNone;
  std::uint64_t target = 0;  // kDirect: its target, past a linker stub (PLT)
};

// Reads the bytes before `return_address`. The starts of instructions are not marked, so kIndirect
// may be chance. kDirect may be chance, too, but then its target is hardly the function that is
// sought.
CallSite call_before(std::uint64_t return_address, UnwindMemory& memory);

// Returns the target of the first direct jump from one range of code into another: a tail call,
// after which the other function returns in place of the first. By chance, bytes may look like a
// jump, but hardly like a jump into a small range.
std::optional<std::uint64_t> jump_between(const elf::ElfRange& from,
                                          const elf::ElfRange& into,
                                          UnwindMemory& memory);

// Returns whether signal handlers return to the code at `address`: it calls sigreturn(2).
bool returns_from_signal(std::uint64_t address, UnwindMemory& memory);

// Returns whether the code at `address` ends the thread at once: nothing called this function.
bool ends_thread(std::uint64_t address, UnwindMemory& memory);

}  // namespace oddrank::unwind
