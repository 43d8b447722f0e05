#include "cpython/bytecode/exception_table.h"

#include <optional>

namespace oddrank::cpython {
namespace {

// Numbers of 6 bits a byte, highest first; bit 6: more follow; bit 7 marks a row's first byte.
std::optional<std::uint32_t> take_table_number(std::span<const std::byte>& table) {
  std::uint32_t number = 0;
  for (int i = 0; i < 6 && !table.empty(); ++i) {
    const auto byte = std::to_integer<std::uint32_t>(table.front());
    table = table.subspan(1);
    number = (number << 6) | (byte & 63);
    if ((byte & 64) == 0) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<HandlerRange> read_exception_table(std::span<const std::byte> table) {
  std::vector<HandlerRange> rows;
  while (!table.empty() && rows.size() < kMaxHandlers) {
    const auto begin = take_table_number(table);
    const auto size = take_table_number(table);
    const auto handler = take_table_number(table);
    const auto depth = take_table_number(table);
    if (!begin || !size || !handler || !depth || *begin + *size < *begin) {
      break;
    }
    // The lowest bit of the depth says what else is pushed.
    rows.push_back({*begin, *begin + *size, *handler, *depth >> 1, (*depth & 1) != 0});
  }
  return rows;
}

}  // namespace oddrank::cpython
