// Reads from the DWARF of one file which functions the compiler inlined at a code address, and the
// source lines.
//
// Reading takes milliseconds to seconds for each file, and much memory, so it is done only on
// request. libdw checks most of what it reads, but a damaged file may still crash it: use it in a
// child with a deadline (base/isolated.h).
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
  std::string function;  // as in symbols (mangled), else its plain name; "" if it has none
  std::string file;      // of the source; "" if unknown
  std::uint32_t line = 0;
};

// Innermost first. The last is the called function; the others were inlined, each into the next
// one, whose line is the place of that call.
using SourceScopes = std::vector<SourceScope>;

class DwarfFile {
 public:
  // Fails with kNotFound if the file has no DWARF. Reads compressed sections, but not split ones
  // (.dwo).
  static Result<DwarfFile> open(const UniqueFd& fd);

  DwarfFile(DwarfFile&&) noexcept;
  DwarfFile& operator=(DwarfFile&&) noexcept;
  DwarfFile(const DwarfFile&) = delete;
  DwarfFile& operator=(const DwarfFile&) = delete;
  ~DwarfFile();

  // Returns what is known about each address (of the file, before the load bias); leaves out
  // addresses that the DWARF does not cover. Returns what it has so far once `out_of_time` returns
  // true.
  std::map<std::uint64_t, SourceScopes> scopes_of(const std::set<std::uint64_t>& addresses,
                                                  const std::function<bool()>& out_of_time) const;

 private:
  struct Impl;
  explicit DwarfFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oddrank::elf
