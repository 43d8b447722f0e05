#include "snapshot/format/packed_column.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace oddrank::snapshot {
namespace {

// The first byte of a column: the width of its numbers, and this if one number stands for all rows.
// Then four bytes with the number of rows follow.
constexpr std::uint8_t kSameInAll = 0x80;
constexpr std::size_t kMaxRows = std::numeric_limits<std::uint32_t>::max();

template <typename Stored>
bool holds(std::int64_t least, std::int64_t most) {
  return std::in_range<Stored>(least) && std::in_range<Stored>(most);
}

unsigned width_of(std::int64_t least, std::int64_t most) {
  if (holds<std::int8_t>(least, most)) {
    return 1;
  }
  if (holds<std::int16_t>(least, most)) {
    return 2;
  }
  return holds<std::int32_t>(least, most) ? 4 : 8;
}

// x86-64 and aarch64 are little-endian, as the file is.
template <typename Stored>
void append_as(std::span<const std::uint8_t> bytes, std::vector<std::int64_t>& into) {
  const std::size_t before = into.size();
  const std::size_t count = bytes.size() / sizeof(Stored);
  into.resize(before + count);
  constexpr unsigned kAbove = 64 - 8 * sizeof(Stored);  // bits that take the sign
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored{};
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    into[before + i] = static_cast<std::int64_t>(std::uint64_t{stored} << kAbove) >> kAbove;
  }
}

}  // namespace

std::vector<std::uint8_t> pack_column(std::span<const std::int64_t> column) {
  const auto [least, most] = std::minmax_element(column.begin(), column.end());
  const bool same = column.size() > 1 && *least == *most && column.size() <= kMaxRows;
  const unsigned width = column.empty() ? 1 : width_of(*least, *most);
  const std::size_t head = same ? 1 + sizeof(std::uint32_t) : 1;
  const auto numbers = column.first(same ? 1 : column.size());
  std::vector<std::uint8_t> bytes(head + numbers.size() * width);
  bytes[0] = static_cast<std::uint8_t>(width | (same ? kSameInAll : 0U));
  if (same) {
    const auto rows = static_cast<std::uint32_t>(column.size());
    std::memcpy(bytes.data() + 1, &rows, sizeof rows);
  }
  std::uint8_t* at = bytes.data() + head;
  for (const std::int64_t number : numbers) {
    std::memcpy(at, &number, width);
    at += width;
  }
  return bytes;
}

std::optional<PackedColumn> read_packed(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) {
    return std::nullopt;
  }
  PackedColumn column;
  const bool same = (bytes[0] & kSameInAll) != 0;
  column.width = bytes[0] & ~unsigned{kSameInAll};
  bytes = bytes.subspan(1);
  if (column.width != 1 && column.width != 2 && column.width != 4 && column.width != 8) {
    return std::nullopt;
  }
  if (same) {
    std::uint32_t rows = 0;
    if (bytes.size() != sizeof rows + column.width) {
      return std::nullopt;
    }
    std::memcpy(&rows, bytes.data(), sizeof rows);
    column.rows = rows;
    bytes = bytes.subspan(sizeof rows);
  } else {
    column.rows = bytes.size() / column.width;
  }
  if (bytes.size() % column.width != 0) {
    return std::nullopt;
  }
  column.numbers = bytes.size() / column.width;
  column.bytes = bytes;
  return column;
}

void PackedColumn::append_to(std::vector<std::int64_t>& into) const {
  switch (width) {
    case 1:
      return append_as<std::uint8_t>(bytes, into);
    case 2:
      return append_as<std::uint16_t>(bytes, into);
    case 4:
      return append_as<std::uint32_t>(bytes, into);
    default:
      return append_as<std::uint64_t>(bytes, into);
  }
}

}  // namespace oddrank::snapshot
