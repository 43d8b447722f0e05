// Facts from symbols about code without an unwind table: where the function at an address begins,
// and whether anything can have called it. They are evidence for the caller of such code
// (frame_search.h).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "attach/target.h"
#include "elf/module_map.h"
#include "unwind/unwind_memory.h"

namespace oddrank::unwind {

// Addresses are the target's.
struct CodeAround {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  enum class Kind : std::uint8_t {
    kFunction,  // of a symbol
    kRoom,      // between two symbols: the function begins anywhere from `start` on
    kMapping,   // no symbol is near: the same applies
  };
  Kind kind = Kind::kMapping;
  const elf::Module* module = nullptr;  // nullptr: made at run time
  bool begins_program = false;          // the kernel or the dynamic linker jumps there
};

class CodeRanges {
 public:
  // All must outlive the object.
  CodeRanges(const attach::Target& target, elf::ModuleMap& modules, UnwindMemory& memory)
      : target_(target), modules_(modules), memory_(memory) {}

  // Returns the known range; caches it, since it takes a pass over the module's symbols. An address
  // without a mapping has an empty range.
  const CodeAround& around(std::uint64_t address);

  // Returns where the code at `pc` begins if a call of `target` leads there, directly or by a jump
  // of the called function; 0 if not. It is certain only for kFunction; otherwise the call with the
  // greatest result is the true one, because functions do not overlap.
  std::uint64_t called_start(std::uint64_t target, std::uint64_t pc);

 private:
  CodeAround look(std::uint64_t address);

  const attach::Target& target_;
  elf::ModuleMap& modules_;
  UnwindMemory& memory_;
  std::unordered_map<std::uint64_t, CodeAround> known_;
};

}  // namespace oddrank::unwind
