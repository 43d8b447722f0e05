#include "cpython/line_table.h"

#include <initializer_list>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::cpython {
namespace {

std::vector<std::byte> table(std::initializer_list<int> bytes) {
  std::vector<std::byte> result;
  for (const int byte : bytes) {
    result.push_back(static_cast<std::byte>(byte & 0xff));
  }
  return result;
}

}  // namespace

TEST_CASE("lnotab: a line begins at its pc", "[cpython]") {
  const auto lines = table({0, 1, 6, 1, 8, 5});
  CHECK(line_of(LineFormat::kLnotab, lines, 10, -1) == 10);
  CHECK(line_of(LineFormat::kLnotab, lines, 10, 0) == 11);
  CHECK(line_of(LineFormat::kLnotab, lines, 10, 5) == 11);
  CHECK(line_of(LineFormat::kLnotab, lines, 10, 6) == 12);
  CHECK(line_of(LineFormat::kLnotab, lines, 10, 14) == 17);
  CHECK(line_of(LineFormat::kLnotab, lines, 10, 1000) == 17);
}

TEST_CASE("lnotab: pc deltas are unsigned, line deltas are signed", "[cpython]") {
  // 200 bytes of code on line 1, then back from line 100 to 98.
  const auto lines = table({200, 99, 4, -2});
  CHECK(line_of(LineFormat::kLnotab, lines, 1, 199) == 1);
  CHECK(line_of(LineFormat::kLnotab, lines, 1, 200) == 100);
  CHECK(line_of(LineFormat::kLnotab, lines, 1, 204) == 98);
  // More than a byte can hold: 255 + 45 bytes, 127 + 127 + 46 lines.
  const auto far = table({255, 0, 45, 127, 0, 127, 0, 46});
  CHECK(line_of(LineFormat::kLnotab, far, 1, 299) == 1);
  CHECK(line_of(LineFormat::kLnotab, far, 1, 300) == 301);
}

TEST_CASE("3.10: ranges, some without a line", "[cpython]") {
  const auto lines = table({4, 1, 6, -128, 200, 3, 2, -2});
  CHECK(line_of(LineFormat::kRanges, lines, 10, -2) == 10);
  CHECK(line_of(LineFormat::kRanges, lines, 10, 0) == 11);
  CHECK(line_of(LineFormat::kRanges, lines, 10, 3) == 11);
  CHECK(line_of(LineFormat::kRanges, lines, 10, 4) == 0);
  CHECK(line_of(LineFormat::kRanges, lines, 10, 10) == 14);
  CHECK(line_of(LineFormat::kRanges, lines, 10, 209) == 14);
  CHECK(line_of(LineFormat::kRanges, lines, 10, 210) == 12);
  CHECK(line_of(LineFormat::kRanges, lines, 10, 212) == 0);
}

TEST_CASE("3.11: every kind of location entry", "[cpython]") {
  const auto entry = [](int kind, int units) { return 0x80 | kind << 3 | (units - 1); };
  const auto lines = table({
      entry(0, 1),  0x12,                                 // bytes 0-1: short, same line: 10
      entry(11, 2), 4,           9,                       // bytes 2-5: one line further: 11
      entry(12, 1), 4,           9,                       // bytes 6-7: two lines further: 13
      entry(13, 3), 2 << 1,                               // bytes 8-13: no columns: 15
      entry(14, 1), 3 << 1 | 1,  2,    5,    9,           // bytes 14-15: long, 3 lines back: 12
      entry(15, 4),                                       // bytes 16-23: no line
      entry(14, 1), 0x40 | 0x28, 0x04, 0x42, 0x01, 5, 9,  // bytes 24-25: 148 lines further: 160
  });
  const auto line = [&](std::int64_t offset) {
    return line_of(LineFormat::kLocations, lines, 10, offset);
  };
  CHECK(line(-2) == 10);
  CHECK(line(0) == 10);
  CHECK(line(2) == 11);
  CHECK(line(5) == 11);
  CHECK(line(6) == 13);
  CHECK(line(12) == 15);
  CHECK(line(14) == 12);
  CHECK(line(16) == 0);
  CHECK(line(23) == 0);
  CHECK(line(24) == 160);
  CHECK(line(26) == 0);
}

TEST_CASE("damaged line tables give no line", "[cpython]") {
  CHECK(line_of(LineFormat::kLnotab, {}, 7, 100) == 7);
  CHECK(line_of(LineFormat::kRanges, {}, 7, 0) == 0);
  CHECK(line_of(LineFormat::kLocations, {}, 7, 0) == 0);
  CHECK(line_of(LineFormat::kLnotab, table({3}), 7, 100) == 7);
  CHECK(line_of(LineFormat::kLnotab, table({0, -100}), 7, 100) == 0);
  CHECK(line_of(LineFormat::kLocations, table({0x12, 0x34}), 7, 0) == 0);
  // A number that never ends, and one that is cut off.
  const auto endless =
      table({0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f});
  CHECK(line_of(LineFormat::kLocations, endless, 7, 0) == 0);
  CHECK(line_of(LineFormat::kLocations, table({0xf0, 0x41}), 7, 4) == 0);
}

}  // namespace oddrank::cpython
