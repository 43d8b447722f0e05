// A column of integers as the byte string that a capture file holds (docs/capture-format.md).
//
// Most columns of a capture have small numbers, and half of them one number in every row. So the
// numbers of a column take 1, 2, 4 or 8 bytes each, as the largest needs, and a number that never
// changes is stored once. Private to snapshot/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace oddrank::snapshot {

// Returns the byte string of a column.
std::vector<std::uint8_t> pack_column(std::span<const std::int64_t> column);

// A column before its numbers are unpacked.
struct PackedColumn {
  std::size_t rows = 0;
  std::size_t numbers = 0;              // stored: as many as rows, or one
  unsigned width = 1;                   // bytes of a number
  std::span<const std::uint8_t> bytes;  // the numbers: little-endian, two's complement

  // Appends the stored numbers.
  void append_to(std::vector<std::int64_t>& into) const;
};

// Returns nullopt if the bytes are no column. Borrows them.
std::optional<PackedColumn> read_packed(std::span<const std::uint8_t> bytes);

}  // namespace oddrank::snapshot
