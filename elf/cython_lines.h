// Lines of Cython's sources, from the C code that Cython has made of them: each statement stands
// below a comment that quotes it.
//
//   /* "pkg/cyx.pyx":4
//    *     return call()             # <<<<<<<<<<<<<<
//
// Seen with Cython 0.29, 3.0 and 3.3. With its option emit_linenums, DWARF has these lines itself.
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
  // `code`: the C file, of whatever origin. At most 2^20 statements are kept.
  explicit CythonLines(std::string_view code);

  // Returns the place that a line of the C file was made of; nullopt above the first one. True only
  // for lines of functions that Cython made of the module's own (not for its helpers).
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
