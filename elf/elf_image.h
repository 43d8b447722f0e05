// One ELF file, opened for reading: segments, sections, symbols, build id, unwind tables. Knows
// nothing about processes; addresses are the file's own (before the load bias is added).
//
// Bytes of the file are hostile: every offset and count is checked, a damaged file causes errors or
// fewer symbols, never a crash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/elf_range.h"

namespace oddrank::elf {

struct ElfSegment {  // PT_LOAD
  std::uint64_t address = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t file_size = 0;
  bool executable = false;
  bool writable = false;
};

class ElfImage {
 public:
  // Maps the file read-only. Takes any fd (even one from /proc/PID/map_files).
  static Result<ElfImage> open(UniqueFd fd);
  // Reads an image that exists only in memory, such as the vdso; keeps the bytes.
  static Result<ElfImage> from_memory(std::vector<std::byte> bytes);

  ElfImage(ElfImage&&) noexcept;
  ElfImage& operator=(ElfImage&&) noexcept;
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;
  ~ElfImage();

  const std::string& build_id() const;  // lower-case hex; empty if there is none
  const std::vector<ElfSegment>& segments() const;
  std::optional<ElfRange> section(std::string_view name) const;
  std::optional<ElfRange> eh_frame_hdr() const;  // PT_GNU_EH_FRAME

  // Finds an exact name in .dynsym, then in .symtab. Defined symbols only.
  std::optional<ElfRange> symbol(std::string_view name) const;
  // Returns every defined function whose name has the prefix; finds names with compiler suffixes
  // (".cold"), too.
  std::vector<ElfRange> functions_with_prefix(std::string_view prefix) const;

  // Returns the innermost function that contains the address, or the gap between functions.
  CodeRange code_around(std::uint64_t address) const;
  // Returns the program's entry point; 0 if the file is not a program.
  std::uint64_t entry() const;

  // Returns whether the file has .symtab: then a local symbol that is not found does not exist.
  bool has_own_symbols() const;
  // Searches the symbols, and adds the results to `search`.
  void find_variables(VariableSearch& search) const;

  // Returns the file's bytes at an address of a loadable segment; an empty span if there are none.
  std::span<const std::byte> bytes_at(std::uint64_t address, std::uint64_t size) const;

  // Names a sorted list of addresses in one pass over the symbol tables: result[i] is the symbol
  // (as in the file) that contains addresses[i], or "". An address that no symbol's size covers
  // gets no name: a nearby name is a wrong name. The same pass does `search`, if given: most of its
  // cost is fetching the tables.
  std::vector<std::string> names_of(std::span<const std::uint64_t> sorted_addresses,
                                    VariableSearch* search = nullptr) const;

 private:
  struct Impl;
  explicit ElfImage(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oddrank::elf
