// Code objects of a target, read and analysed: the loops around an instruction, and all calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpython/bytecode/calls.h"
#include "cpython/bytecode/decode.h"
#include "cpython/bytecode/exception_table.h"
#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

struct AnalysedCode {
  std::vector<DecodedInstruction> instructions;
  std::vector<HandlerRange> handlers;
  CodeCalls calls;
};

// Where a frame stands in its code.
struct CodePlace {
  const AnalysedCode* code = nullptr;  // null: it cannot be analysed, or the frame is at no
                                       // instruction
  std::uint32_t at = kNoInstruction;   // index of its current instruction
};

// Caches what it read: use it for one sample only, since code objects come and go.
class CodeAnalysis {
 public:
  // `memory` must outlive the object.
  explicit CodeAnalysis(PythonMemory& memory);

  // Fetches the code of all these frames in a few system calls.
  void prefetch(std::span<const RawFrame> frames);

  // Returns null if the code cannot be read, is too long, or has unknown instructions.
  const AnalysedCode* of_frame(const CodeObject& object, const RawFrame& frame);
  // Returns the same for code that no frame runs (of a function or a comprehension).
  const AnalysedCode* of_code(Addr code);

  // Returns where the frame stands in the code that of_frame() returns.
  CodePlace find_place(const CodeObject& object, const RawFrame& frame);

  // Returns the index of a frame's current instruction; kNoInstruction if it has none.
  std::uint32_t place_of(const AnalysedCode& code,
                         const CodeObject& object,
                         const RawFrame& frame) const;

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // code object, where its instructions begin

  const AnalysedCode* analyse(Addr code, Addr instructions);
  std::optional<std::vector<std::byte>> read_instructions(Addr code, Addr instructions);

  PythonMemory& memory_;
  Instructions table_;
  std::map<Key, std::unique_ptr<AnalysedCode>> known_;
};

}  // namespace oddrank::cpython
