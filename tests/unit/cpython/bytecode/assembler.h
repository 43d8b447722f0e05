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

class Assembler {
 public:
  using Row = std::pair<std::string_view, std::uint8_t>;  // instruction and argument

  explicit Assembler(std::uint32_t minor) : table_(cpython::instructions_of(minor)) {
    for (const std::string_view row : split(cpython::opcode_rows(minor), ';')) {
      const auto words = split_blanks(row);
      if (words.size() > 1) {
        numbers_[std::string(words[0])] =
            static_cast<std::uint8_t>(std::stoul(std::string(words[1])));
      }
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
