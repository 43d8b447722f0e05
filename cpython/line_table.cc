#include "cpython/line_table.h"

#include <optional>

namespace oddrank::cpython {
namespace {

constexpr std::int64_t kUnit = 2;  // bytes of a code unit

std::uint8_t byte_at(std::span<const std::byte> table, std::size_t at) {
  return std::to_integer<std::uint8_t>(table[at]);
}

std::uint32_t checked_line(std::int64_t line) {
  return line > 0 && line <= INT32_MAX ? static_cast<std::uint32_t>(line) : 0;
}

std::uint32_t line_of_lnotab(std::span<const std::byte> table,
                             std::int64_t line,
                             std::int64_t offset) {
  std::int64_t pc = 0;
  for (std::size_t at = 0; at + 1 < table.size(); at += 2) {
    pc += byte_at(table, at);
    if (pc > offset) {
      break;
    }
    line += static_cast<std::int8_t>(byte_at(table, at + 1));
  }
  return checked_line(line);
}

std::uint32_t line_of_ranges(std::span<const std::byte> table,
                             std::int64_t line,
                             std::int64_t offset) {
  constexpr std::int8_t kNoLine = -128;
  std::int64_t end = 0;
  for (std::size_t at = 0; at + 1 < table.size(); at += 2) {
    const auto delta = static_cast<std::int8_t>(byte_at(table, at + 1));
    end += byte_at(table, at);
    line += delta == kNoLine ? 0 : delta;
    if (offset < end) {
      return delta == kNoLine ? 0 : checked_line(line);
    }
  }
  return 0;
}

// The variable-length entries of 3.11 and later.
class LocationTable {
 public:
  explicit LocationTable(std::span<const std::byte> table) : table_(table) {}

  struct Entry {
    std::int64_t bytes = 0;       // of code
    std::int64_t line_delta = 0;  // from the previous line
    bool has_line = true;
  };

  // Returns the next entry; nullopt at the end, or if the table is damaged.
  std::optional<Entry> next();

 private:
  // Reads six bits a byte, the lowest first; bit 6 means that another byte follows.
  std::uint64_t number();
  // Reads a number whose lowest bit is the sign.
  std::int64_t signed_number();

  std::span<const std::byte> table_;
  std::size_t at_ = 0;
};

std::optional<LocationTable::Entry> LocationTable::next() {
  if (at_ >= table_.size()) {
    return std::nullopt;
  }
  const std::uint8_t head = byte_at(table_, at_++);
  if ((head & 0x80) == 0) {
    return std::nullopt;
  }
  Entry entry;
  entry.bytes = ((head & 7) + 1) * kUnit;
  const unsigned kind = head >> 3 & 15;
  if (kind < 10) {  // same line, columns in one byte
    at_ += 1;
  } else if (kind < 13) {  // 0, 1 or 2 lines further, columns in two bytes
    entry.line_delta = kind - 10;
    at_ += 2;
  } else if (kind == 13) {  // no columns
    entry.line_delta = signed_number();
  } else if (kind == 14) {  // end line, column and end column follow
    entry.line_delta = signed_number();
    number();
    number();
    number();
  } else {
    entry.has_line = false;
  }
  return entry;
}

std::uint64_t LocationTable::number() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at_ < table_.size() && shift < 60; shift += 6) {
    const std::uint8_t byte = byte_at(table_, at_++);
    value |= std::uint64_t{byte & 0x3fU} << shift;
    if ((byte & 0x40) == 0) {
      break;
    }
  }
  return value;
}

std::int64_t LocationTable::signed_number() {
  const std::uint64_t value = number();
  const auto magnitude = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

std::uint32_t line_of_locations(std::span<const std::byte> bytes,
                                std::int64_t line,
                                std::int64_t offset) {
  if (offset < 0) {
    return checked_line(line);
  }
  LocationTable table(bytes);
  std::int64_t end = 0;
  while (const auto entry = table.next()) {
    // Wraps only if the table is damaged; the line is checked at the end.
    line = static_cast<std::int64_t>(static_cast<std::uint64_t>(line) +
                                     static_cast<std::uint64_t>(entry->line_delta));
    end += entry->bytes;
    if (offset < end) {
      return entry->has_line ? checked_line(line) : 0;
    }
  }
  return 0;
}

}  // namespace

std::uint32_t line_of(LineFormat format,
                      std::span<const std::byte> table,
                      std::int64_t first_line,
                      std::int64_t offset) {
  switch (format) {
    case LineFormat::kLnotab:
      return line_of_lnotab(table, first_line, offset);
    case LineFormat::kRanges:
      return offset < 0 ? checked_line(first_line) : line_of_ranges(table, first_line, offset);
    case LineFormat::kLocations:
      return line_of_locations(table, first_line, offset);
  }
  return 0;
}

}  // namespace oddrank::cpython
