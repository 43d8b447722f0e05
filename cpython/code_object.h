// Code objects: the names and line tables behind frames. Read in batches, kept for the life of a
// process: the same few hundred serve every thread and every sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpython/frame_chain.h"
#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

struct CodeObject {
  bool readable = false;  // false: not a code object, or its names could not be read
  std::string function;   // qualified name where the version has it
  std::string file;
  std::int64_t first_line = 0;
  std::vector<std::byte> line_table;
  Addr instructions{};       // 3.11+
  std::vector<Addr> copies;  // free-threaded 3.14+: of the instructions, one a thread
  // Where the parts were read from: a code object that was freed and another in its place differ.
  Addr file_object{};
  Addr function_object{};
  Addr line_table_object{};
};

class CodeCache {
 public:
  // Reads those of `codes` that are not there yet or have changed, in few system calls.
  void load(RemoteReader& reader, const Layout& layout, std::span<const Addr> codes);

  // Of an address given to load(); otherwise an unreadable one.
  const CodeObject& at(Addr code) const;

 private:
  static constexpr std::size_t kLimit = 65536;  // then the cache starts anew
  void load_copies(RemoteReader& reader, const Layout& layout, std::span<const Addr> codes);

  std::unordered_map<std::uint64_t, std::unique_ptr<CodeObject>> codes_;
  CodeObject none_;
};

// Line of the instruction that a frame is at; 0 = unknown.
std::uint32_t line_of(const Layout& layout, const CodeObject& code, const RawFrame& frame);

}  // namespace oddrank::cpython
