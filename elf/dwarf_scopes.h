// What the DWARF of one file says of code addresses: the functions that the compiler put into one
// another there, and the lines of source.
//
// Slow (milliseconds to seconds a file) and hungry for memory, so only for those who ask for it.
// libdw checks most of what it reads, but a damaged file may still crash it: use it in a child with
// a deadline (base/isolated.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::elf {

// One function at an address.
struct SourceScope {
  std::string function;  // as symbols have it (mangled), else its plain name; "" if it has none
  std::string file;      // of the source; "" if unknown
  std::uint32_t line = 0;
};

// Innermost first. The last is the function that was called; those before it were inlined, each
// into the next one, whose line is that of the call.
using SourceScopes = std::vector<SourceScope>;

class DwarfFile {
 public:
  // kNotFound: the file has no DWARF. Compressed sections are read, split ones (.dwo) are not.
  static Result<DwarfFile> open(const UniqueFd& fd);

  DwarfFile(DwarfFile&&) noexcept;
  DwarfFile& operator=(DwarfFile&&) noexcept;
  DwarfFile(const DwarfFile&) = delete;
  DwarfFile& operator=(const DwarfFile&) = delete;
  ~DwarfFile();

  // What is known of each of the addresses (of the file, before the load bias); those of which
  // nothing is known are left out. Stops early where `out_of_time` says so, with what it has.
  std::map<std::uint64_t, SourceScopes> scopes_of(const std::set<std::uint64_t>& addresses,
                                                  const std::function<bool()>& out_of_time) const;

 private:
  struct Impl;
  explicit DwarfFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oddrank::elf
