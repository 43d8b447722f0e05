// Columns as byte strings, and the CBOR around them.
#include "snapshot/format/packed_column.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "snapshot/format/cbor.h"
#include "snapshot/format/columns.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

using namespace std::string_literals;

std::vector<std::int64_t> unpacked(const std::vector<std::uint8_t>& bytes) {
  const auto column = read_packed(bytes);
  REQUIRE(column);
  std::vector<std::int64_t> numbers;
  column->append_to(numbers);
  REQUIRE(numbers.size() == column->numbers);
  if (column->numbers != column->rows) {
    REQUIRE(numbers.size() == 1);
    numbers.assign(column->rows, numbers.front());
  }
  return numbers;
}

TEST_CASE("numbers take as many bytes as the largest of a column needs") {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::pair<std::vector<std::int64_t>, std::size_t>> columns = {
      {{}, 1},
      {{5}, 1 + 1},
      {{-128, 127, 0}, 1 + 3},
      {{-129, 0}, 1 + 2 * 2},
      {{128, 0}, 1 + 2 * 2},
      {{32768, -32768, 1}, 1 + 3 * 4},
      {{std::int64_t{1} << 31, 0}, 1 + 2 * 8},
      {{kLeast, kMost, -1}, 1 + 3 * 8},
      {{7, 7, 7, 7}, 1 + 4 + 1},
      {{kMost, kMost}, 1 + 4 + 8},
      {std::vector<std::int64_t>(100'000, -1), 1 + 4 + 1},
  };
  for (const auto& [column, size] : columns) {
    const std::vector<std::uint8_t> bytes = pack_column(column);
    CHECK(bytes.size() == size);
    CHECK(unpacked(bytes) == column);
  }
}

TEST_CASE("bytes that are no column are refused") {
  for (const std::vector<std::uint8_t>& bytes : std::vector<std::vector<std::uint8_t>>{
           {},
           {0},  // numbers without a width
           {3, 1, 2, 3},
           {16},
           {2, 1},  // half a number
           {8, 1, 2, 3, 4, 5, 6, 7},
           {0x81},                    // neither rows nor a number
           {0x81, 1, 0, 0, 0},        // no number
           {0x81, 1, 0, 0, 0, 5, 5},  // two numbers for all rows
           {0x82, 1, 0, 0, 0, 5},
           {0x80, 1, 0, 0, 0},
       }) {
    CHECK_FALSE(read_packed(bytes));
  }
  CHECK(unpacked({0x81, 0, 0, 0, 0, 5}).empty());
}

TEST_CASE("a document's columns lie in one array, and its texts in its bytes") {
  // {"t": {"a": h'01 01 FE 03', "b": h'01 05 06 07'}, "strings": {"text": ["", "x"]}}
  const auto read = decode_document(
      "\xa2\x61t\xa2\x61"
      "a\x44\x01\x01\xfe\x03\x61"
      "b\x44\x01\x05\x06\x07\x67strings\xa1\x64text\x82\x60\x61x"s);
  REQUIRE(read);
  REQUIRE(read->table("t") != nullptr);
  const auto& columns = read->table("t")->columns;
  REQUIRE(columns.size() == 2);
  CHECK(columns[0].name == "a");
  CHECK(columns[1].size == 3);
  CHECK(read->numbers == std::vector<std::int64_t>{1, -2, 3, 5, 6, 7});
  CHECK(read->strings == std::vector<std::string_view>{"", "x"});
  const ReadDocument copy = *read;  // has the same bytes
  CHECK(copy.strings[1] == "x");
}

TEST_CASE("a document is refused wherever it is cut, and with anything else in its places") {
  Document document;
  document.tables["t"]["a"] = {1, 2, 3};
  document.tables["t"]["b"] = {70'000, 70'000, 70'000};
  document.strings = {"", "text"};
  const std::string whole = encode_document(document);
  REQUIRE(decode_document(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(decode_document(whole.substr(0, size)));
  }
  CHECK_FALSE(decode_document(whole + '\0'));
  for (const std::string& other :
       {"\x80"s, "\x05"s, "\x60"s, "\xf6"s, "\xfb\0\0\0\0\0\0\0\0"s, "\xc1\x00"s, "\xbf\xff"s,
        "\xa1\x61t\x05"s, "\xa1\x61t\x80"s, "\xa1\x05\xa0"s, "\xa1\x61t\xa1\x61"s + "a\x61x"s,
        "\xa1\x61t\xa1\x61"s + "a\x81\x61x"s, "\xa1\x61t\xa1\x61"s + "a\x81\xf4"s,
        "\xa1\x67strings\x80"s, "\xa1\x67strings\xa1\x64text\x41x"s}) {
    CHECK_FALSE(decode_document(other));
  }
  // Negative numbers beyond 64 bits.
  CHECK_FALSE(decode_document("\xa1\x61t\xa1\x61"s + "a\x81\x3b\xff\xff\xff\xff\xff\xff\xff\xff"s));
}

TEST_CASE("a limit counts the numbers that are stored") {
  Document document;
  document.tables["t"]["a"] = Column(1000, 7);
  document.strings = {""};
  CHECK(decode_document(encode_document(document), 64));
  document.tables["t"]["a"].front() = 8;
  CHECK_FALSE(decode_document(encode_document(document), 64));
}

TEST_CASE("lengths are written in the fewest bytes, and read back") {
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{23}, std::uint64_t{24}, std::uint64_t{255},
        std::uint64_t{256}, std::uint64_t{65535}, std::uint64_t{65536}, std::uint64_t{0xffffffff},
        std::uint64_t{0x100000000}, ~std::uint64_t{0}}) {
    std::string bytes;
    put_cbor_head(bytes, CborType::kArray, number);
    CHECK(bytes.size() == (number < 24            ? 1U
                           : number < 256         ? 2U
                           : number < 65536       ? 3U
                           : number <= 0xffffffff ? 5U
                                                  : 9U));
    CborReader reader(bytes);
    const auto item = reader.next();
    REQUIRE(item);
    CHECK(item->type == CborType::kArray);
    CHECK(item->number == number);
    CHECK(reader.left() == 0);
    CHECK_FALSE(reader.next());
  }
}

}  // namespace
}  // namespace oddrank::snapshot
