// Code of one CPython version from the names of its instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/split.h"
#include "cpython/bytecode/decode.h"
#include "cpython/bytecode/opcodes.h"

namespace oddrank::test {

inline std::string_view opcode_lines(std::uint32_t minor) {
  switch (minor) {
    case 8:
      return cpython::opcode_lines_3_8();
    case 9:
      return cpython::opcode_lines_3_9();
    case 10:
      return cpython::opcode_lines_3_10();
    case 11:
      return cpython::opcode_lines_3_11();
    case 12:
      return cpython::opcode_lines_3_12();
    case 13:
      return cpython::opcode_lines_3_13();
    case 14:
      return cpython::opcode_lines_3_14();
    default:
      return cpython::opcode_lines_3_15();
  }
}

class Assembler {
 public:
  using Row = std::pair<std::string_view, std::uint8_t>;  // instruction and argument

  explicit Assembler(std::uint32_t minor) : table_(cpython::instructions_of(minor)) {
    for (const std::string_view line : split(opcode_lines(minor), '\n')) {
      const auto words = split_blanks(line);
      numbers_[std::string(words[0])] =
          static_cast<std::uint8_t>(std::stoul(std::string(words[1])));
    }
  }

  const cpython::Instructions& table() const { return table_; }
  // Returns the code, each instruction with its caches.
  std::vector<std::byte> bytes(const std::vector<Row>& rows) const {
    std::vector<std::byte> code;
    for (const auto& [name, argument] : rows) {
      const std::uint8_t number = numbers_.at(std::string(name));
      code.push_back(std::byte{number});
      code.push_back(std::byte{argument});
      code.resize(code.size() + 2 * std::size_t{table_.of[number].caches});
    }
    return code;
  }
  std::vector<cpython::DecodedInstruction> decoded(const std::vector<Row>& rows) const {
    return cpython::decode_instructions(table_, bytes(rows))
        .value_or(std::vector<cpython::DecodedInstruction>());
  }

 private:
  cpython::Instructions table_;
  std::map<std::string, std::uint8_t> numbers_;
};

}  // namespace oddrank::test
