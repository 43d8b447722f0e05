#include "cpython/bytecode/exception_table.h"

#include "tests/support/catch.h"

namespace oddrank::cpython {
namespace {

std::vector<HandlerRange> read_ranges(const std::vector<int>& bytes) {
  std::vector<std::byte> table;
  for (const int one : bytes) {
    table.push_back(static_cast<std::byte>(one));
  }
  return read_exception_table(table);
}

}  // namespace

TEST_CASE("exception table: rows with numbers of several bytes") {
  const auto rows = read_ranges({0x80 | 2, 4, 20, 3 << 1, 0x80 | 0x40 | 1, 2, 1, 0x40 | 1, 0, 1});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].begin == 2);
  CHECK(rows[0].end == 6);
  CHECK(rows[0].handler == 20);
  CHECK(rows[0].depth == 3);
  CHECK_FALSE(rows[0].pushes_instruction);
  CHECK(rows[1].begin == 66);
  CHECK(rows[1].end == 67);
  CHECK(rows[1].handler == 64);
  CHECK(rows[1].depth == 0);
  CHECK(rows[1].pushes_instruction);
}

TEST_CASE("exception table: a damaged row ends it") {
  CHECK(read_ranges({}).empty());
  CHECK(read_ranges({0x82, 4, 20}).empty());
  CHECK(read_ranges(std::vector<int>(64, 0x7f)).empty());  // a number without an end
  CHECK(read_ranges({0x82, 4, 20, 6, 0x82, 4}).size() == 1);
  CHECK(read_ranges(std::vector<int>(4 * (kMaxHandlers + 9), 0)).size() == kMaxHandlers);
}

}  // namespace oddrank::cpython
