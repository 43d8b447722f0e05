// A piece of an ELF file's address space: a section, a symbol, a table.
//
// The bytes of a file or of an image in memory, read-only, as one span. A file is mapped, not read:
// libtorch_cpu.so alone has hundreds of megabytes (see base/mapped_file.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::elf {

struct ElfRange {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// The range of the function that contains an address, as far as symbols show it.
struct CodeRange {
  std::uint64_t start = 0;
  std::uint64_t end = UINT64_MAX;
  // A symbol contains the address. If false, this is the gap between the nearest two symbols, which
  // may hold several functions.
  bool is_function = false;
};

// A range with the name of its symbol.
struct NamedRange {
  std::string name;
  ElfRange range;
};

// A search for static variables of functions: finds all defined variables with such a size, address
// and prefix of the name; names are as in the file. Size and address are compared first: names are
// spread over tens of megabytes.
struct VariableSearch {
  std::string_view prefix;
  std::array<std::uint64_t, 2> sizes{};
  ElfRange within;
  std::vector<NamedRange> found;
};

class FileBytes {
 public:
  // Maps a regular file and closes the fd; fails for other files.
  static Result<FileBytes> map(UniqueFd fd);
  explicit FileBytes(std::vector<std::byte> bytes) : copy_(std::move(bytes)) {}

  // Returns the bytes; moving the object does not move them.
  std::span<const std::byte> span() const {
    return file_.span().empty() ? std::span(copy_) : file_.span();
  }

  // Releases the memory of a mapped file's pages (MappedFile).
  void forget_pages() const { file_.forget_pages(); }

 private:
  explicit FileBytes(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::vector<std::byte> copy_;
};

inline Result<FileBytes> FileBytes::map(UniqueFd fd) {
  ODDRANK_TRY(MappedFile file, MappedFile::map(std::move(fd)));
  return FileBytes(std::move(file));
}

}  // namespace oddrank::elf
