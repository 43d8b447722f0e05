// Finds the callers of frames for which the unwind tables are not enough.
//
// First case: frames whose address depends on the frame pointer, which is unknown for a blocked
// thread that was not stopped. If code keeps a frame pointer (everything on some distributions,
// libffi everywhere) and no inner function saved it, the unwind table says "the frame ends at rbp +
// 16" (on aarch64, "at x29 + 32"), and the stack would end there. But the return address lies
// somewhere above the stack pointer, and in the code it follows a call of this very function. So
// the stack is searched for it. The result is a heuristic and marked as one; the caller tries the
// candidates in order and keeps the first that unwinds well.
//
// Second case: frames of code that no table describes: made at run time (JIT), assembler, or a C
// library that was built without tables (musl). There the call must lead to the function of the
// thread's pc, as far as that is known.
//
// The kernel calls signal handlers: the address of the code that returns from the signal is above
// such a frame, and is a candidate, too.
//
// Facts from symbols about code without an unwind table: where the function at an address begins,
// and whether anything can have called it. They are evidence for the caller of such code
// (frame_search.h).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

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

// Largest distance between a frame and its caller's.
inline constexpr std::uint64_t kMaxFrameSize = std::uint64_t{1} << 20;

struct FrameCandidate {
  std::uint64_t return_address = 0;
  std::uint64_t frame_end = 0;  // the caller's stack pointer
  bool end_is_guess = false;
  std::uint64_t frame_pointer = 0;               // the frame's own, in most code
  std::optional<std::uint64_t> callers_pointer;  // the caller's frame pointer, if it keeps one
  // The start of this function if the call before the return address leads to it. 0 if that is
  // unknown (an indirect call): then the candidate counts only if it completes the stack.
  std::uint64_t called = 0;
  bool proven() const { return called != 0; }
  bool elsewhere = false;  // a direct call of another function, which may have jumped to this one
  bool to_kernel = false;  // no call: a signal handler returns to this address
};

// Returns the candidate whose return address, without a signature, is on the stack at `at`; nullopt
// if no frame can be there. Each machine has its own in machine/NAME_calls.cc.
std::optional<FrameCandidate> candidate_at(std::uint64_t at,
                                           std::uint64_t return_address,
                                           UnwindMemory& memory);

// Finds candidates above `stack_pointer` for a frame of the function that begins at
// `function_start`: proven ones first, then nearest first; at most 16. `signature`: the bits of a
// return address to be ignored.
std::vector<FrameCandidate> find_frames(const attach::MemoryMap& maps,
                                        UnwindMemory& memory,
                                        std::uint64_t stack_pointer,
                                        std::uint64_t signature,
                                        std::uint64_t function_start);

// Does the same for a frame without any table, whose code is at `pc`. A call counts as proof if it
// leads to a function that may contain `pc` and no other call leads to one that begins nearer.
// Without symbols nearby this proof is weak, and does not come first. Calls of other functions come
// last.
std::vector<FrameCandidate> find_callers(const attach::MemoryMap& maps,
                                         UnwindMemory& memory,
                                         std::uint64_t stack_pointer,
                                         std::uint64_t signature,
                                         std::uint64_t pc,
                                         CodeRanges& code);

}  // namespace oddrank::unwind
