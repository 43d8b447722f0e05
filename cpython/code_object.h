// Code objects: the names and line tables of frames. They are read in batches and cached while the
// process is read: the same few hundred serve every thread and every sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

struct CodeObject {
  bool readable = false;  // false: not a code object, or its names could not be read
  std::string function;   // qualified name if the version has it
  std::string file;
  std::int64_t first_line = 0;
  std::vector<std::byte> line_table;
  Addr instructions{};       // 3.11+
  std::vector<Addr> copies;  // free-threaded 3.14+: each thread's copy of the instructions
  // Addresses of its parts: they show whether another code object has taken the address.
  Addr file_object{};
  Addr function_object{};
  Addr line_table_object{};
};

class CodeCache {
 public:
  // Reads the `codes` that are not cached yet or have changed, in a few system calls.
  void load(PythonMemory& memory, std::span<const Addr> codes);

  // Returns the code object at an address that was passed to load(); else an unreadable one.
  const CodeObject& at(Addr code) const;

 private:
  static constexpr std::size_t kMaxCodes = 65536;  // beyond it the cache is emptied
  void load_copies(PythonMemory& memory, std::span<const Addr> codes);

  std::unordered_map<std::uint64_t, std::unique_ptr<CodeObject>> codes_;
  CodeObject none_;
};

// Returns the start of the frame's code, in the copy that it runs; null up to 3.10.
Addr first_instruction(const CodeObject& code, const RawFrame& frame);

// Returns the distance of the frame's current instruction from the start of its code, in bytes;
// negative before the first one.
std::int64_t instruction_offset(const Layout& layout,
                                const CodeObject& code,
                                const RawFrame& frame);

// Returns the line of a frame's current instruction; 0 = unknown.
std::uint32_t line_of(const Layout& layout, const CodeObject& code, const RawFrame& frame);

// Returns the line of a frame, as PyFrame_GetLineNumber does (Objects/frameobject.c): the frame's
// object may have it. It has the line while a trace function is called, and in code of Nuitka,
// whose line tables are empty (up to 3.11) or belong to another function.
std::uint32_t line_of(PythonMemory& memory, const CodeObject& code, const RawFrame& frame);
// Fetches the memory that line_of() will need for the chains' frames, in one call.
void prefetch_lines(PythonMemory& memory, std::span<const FrameChain> chains);

}  // namespace oddrank::cpython
