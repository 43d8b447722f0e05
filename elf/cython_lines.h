// Lines of Cython's sources, from the C code that Cython generates: above each statement, a comment
// quotes the source.
//
//   /* "pkg/cyx.pyx":4
//    *     return call()             # <<<<<<<<<<<<<<
//
// Seen with Cython 0.29, 3.0 and 3.3. With Cython's option emit_linenums, DWARF itself has these
// lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::elf {

struct CythonPlace {
  std::string file;  // "pkg/cyx.pyx"
  std::uint32_t line = 0;
};

class CythonLines {
 public:
  // `code`: the C file, not trusted. Keeps at most 2^20 statements.
  explicit CythonLines(std::string_view code);

  // Returns the source of a line of the C file; nullopt above the first one. Correct only for the
  // module's own functions, not for Cython's helpers.
  std::optional<CythonPlace> at(std::uint32_t line) const;

 private:
  struct Statement {
    std::uint32_t below = 0;  // the line of the comment
    std::uint32_t file = 0;
    std::uint32_t line = 0;
  };
  std::vector<std::string> files_;
  std::vector<Statement> statements_;  // by line
};

}  // namespace oddrank::elf
