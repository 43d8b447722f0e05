#include "collectives/flight/pickle_reader.h"

#include <string>

#include "collectives/flight/json_reader.h"
#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

// {"a": 1, "b": [2, "a"]} as PyTorch's C++ writes it: texts memoised by value, then used again.
const std::string kSmall = "\x80\x02}(X\x01\0\0\0aq\0K\x01X\x01\0\0\0bq\x01](K\x02h\0eu."s;

std::string text_at(const PlainDocument& document, std::string_view key) {
  return std::string(PlainData::text_of(document.data.find(document.root, key)));
}

TEST_CASE("dicts, lists and memoised texts") {
  const auto document = read_pickle(kSmall);
  REQUIRE(document);
  CHECK(!document->cut);
  CHECK(document->data.find(document->root, "a").integer == 1);
  const auto list = document->data.items(document->data.find(document->root, "b"));
  REQUIRE(list.size() == 2);
  CHECK(list[0].integer == 2);
  CHECK(PlainData::text_of(list[1]) == "a");
  CHECK(document->data.find(document->root, "c").kind == PlainKind::kNone);
}

TEST_CASE("every cut of a pickle returns the complete part, or an error") {
  for (std::size_t size = 0; size < kSmall.size(); ++size) {
    INFO(size);
    const auto document = read_pickle(std::string_view(kSmall).substr(0, size));
    if (!document) {
      CHECK(size < 4);
      continue;
    }
    CHECK(document->cut);
    if (size >= 14) {
      CHECK(document->data.find(document->root, "a").integer == 1);
    }
  }
}

TEST_CASE("numbers of all widths") {
  const std::string numbers =
      "\x80\x02](K\xffM\xff\xffJ\xfe\xff\xff\xff\x8a\x08\x01\0\0\0\0\0\0\x80\x8a\x01\xff\x8a\0"
      "\x8a\x09\0\0\0\0\0\0\0\0\x01"
      "G\x3f\xf8\0\0\0\0\0\0NI\n"s;
  const auto bad = read_pickle(numbers);  // 'I' is protocol 0
  REQUIRE(!bad);
  CHECK(bad.error().what.find("opcode 0x49") != std::string::npos);
  const auto document = read_pickle(numbers.substr(0, numbers.size() - 2) + "e.");
  REQUIRE(document);
  const auto values = document->data.items(document->root);
  REQUIRE(values.size() == 9);
  CHECK(values[0].integer == 255);
  CHECK(values[1].integer == 65535);
  CHECK(values[2].integer == -2);
  CHECK(values[3].integer == INT64_MIN + 1);
  CHECK(values[4].integer == -1);
  CHECK(values[5].integer == 0);
  CHECK(values[6].kind == PlainKind::kNone);  // does not fit
  CHECK(values[7].real == 1.5);
  CHECK(values[8].kind == PlainKind::kNone);
}

TEST_CASE("no function is called except the one that marks lists") {
  const auto evil = read_pickle(
      "\x80\x02"
      "cos\nsystem\n(X\x02\0\0\0lstR."s);
  REQUIRE(!evil);
  CHECK(evil.error().what == "the pickle wants to call os.system, which plain data do not need");
  const auto stack_global = read_pickle("\x80\x04\x8c\x02os\x8c\x06system\x93."s);
  REQUIRE(!stack_global);
  CHECK(stack_global.error().what.find("opcode 0x93") != std::string::npos);
  const auto marker = read_pickle(
      "\x80\x02"
      "ctorch.jit._pickle\nbuild_intlist\n](K\x07"
      "e\x85R."s);
  REQUIRE(marker);
  REQUIRE(marker->data.items(marker->root).size() == 1);
  CHECK(marker->data.items(marker->root)[0].integer == 7);
}

TEST_CASE("protocol 4 with frames and MEMOIZE") {
  // pickle.dumps({"k": ("x", True)}, 4)
  const std::string bytes =
      "\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94\x8c\x01k\x94\x8c\x01x\x94\x88\x86\x94s."s;
  const auto document = read_pickle(bytes);
  REQUIRE(document);
  const auto tuple = document->data.items(document->data.find(document->root, "k"));
  REQUIRE(tuple.size() == 2);
  CHECK(PlainData::text_of(tuple[0]) == "x");
  CHECK(tuple[1].integer == 1);
}

TEST_CASE("a memo holds thousands of values, in whatever order they were numbered") {
  const auto number = [](unsigned value) {
    return std::string{static_cast<char>(value & 0xff), static_cast<char>(value >> 8 & 0xff), 0, 0};
  };
  constexpr unsigned kCount = 3000;
  std::string bytes = "\x80\x02]("s;
  for (unsigned i = 0; i < kCount; ++i) {  // 1, 0, 3, 2, ...
    bytes += "M" + number(i).substr(0, 2) + "r" + number(i ^ 1U);
  }
  for (unsigned i = 0; i < kCount; ++i) {
    bytes += "j" + number(i);
  }
  const auto document = read_pickle(bytes + "e.");
  REQUIRE(document);
  const auto values = document->data.items(document->root);
  REQUIRE(values.size() == 2 * kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    REQUIRE(values[kCount + i].integer == (i ^ 1U));
  }
}

TEST_CASE("damaged pickles are refused") {
  for (const std::string& bytes : {""s, "x"s, "\x80\x09."s, "\x80\x02."s, "\x80\x02h\x05."s,
                                   "\x80\x02K\x01"
                                   "e."s,
                                   "\x80\x02K\x01K\x02s."s, "\x80\x02(u."s, "\x80\x02t."s,
                                   "\x80\x02\x86."s, "\x80\x02R."s, "\x80\x02q\0."s,
                                   "\x80\x02"
                                   "0."s,
                                   "\x80\x02"
                                   "2."s,
                                   "\x80\x02](K\x01r\xff\xff\xff\xff"
                                   "e."s,
                                   "\x80\x02}(K\x01u."s}) {
    INFO(bytes);
    CHECK(!read_pickle(bytes));
  }
}

TEST_CASE("a pickle of many empty lists is refused for its memory") {
  CHECK(!read_pickle("\x80\x02]("s + std::string(1U << 22U, ']')));
}

TEST_CASE("a small pickle may unpack to many times its size") {
  // 13 times, as a dump of 4001 calls that Python has pickled anew.
  const std::string small = "\x80\x02]("s + std::string(10'000, ']') + "e.";
  CHECK(read_pickle(small));
}

TEST_CASE("lists keep their values while others grow between") {
  constexpr std::int64_t kValues = 3000;  // more than a chunk has room for
  PlainData data(std::size_t{1} << 20);
  const std::vector<PlainValue> lists = {data.list(), data.list(), data.list()};
  for (std::int64_t i = 0; i < kValues; ++i) {
    for (std::size_t each = 0; each < lists.size(); ++each) {
      // By ones, by threes, and the whole at once at the end.
      const std::vector<PlainValue> values(each == 1 ? 3 : 1, PlainData::integer(i));
      if (each < 2) {
        data.append(lists[each], values);
      }
    }
  }
  data.append(lists[2], data.items(lists[0]));
  CHECK_FALSE(data.over_budget());
  const auto numbers = [&data](const PlainValue& list) {
    std::vector<std::int64_t> found;
    for (const PlainValue& value : data.items(list)) {
      found.push_back(value.integer);
    }
    return found;
  };
  std::vector<std::int64_t> once;
  std::vector<std::int64_t> thrice;
  for (std::int64_t i = 0; i < kValues; ++i) {
    once.push_back(i);
    thrice.insert(thrice.end(), 3, i);
  }
  CHECK(numbers(lists[0]) == once);
  CHECK(numbers(lists[1]) == thrice);
  CHECK(numbers(lists[2]) == once);
}

TEST_CASE("a list that is over the budget keeps what it had") {
  PlainData data(0, 65536);
  const PlainValue list = data.list();
  const std::vector<PlainValue> values(100, PlainData::integer(7));
  for (int i = 0; i < 1000 && !data.over_budget(); ++i) {
    data.append(list, values);
  }
  CHECK(data.over_budget());
  CHECK(data.items(list).size() % 100 == 0);
  CHECK(data.items(list).size() < 10'000);
}

TEST_CASE("JSON, whole and cut") {
  const std::string json =
      R"({"version":"2.10","entries":[{"a":1,"b":"\u00e4"},{"a":2}],"x":null})";
  const auto document = read_json(json);
  REQUIRE(document);
  CHECK(!document->cut);
  CHECK(text_at(*document, "version") == "2.10");
  const auto cut = read_json(json.substr(0, json.find("},{") + 4));
  REQUIRE(cut);
  CHECK(cut->cut);
  CHECK(cut->data.items(cut->data.find(cut->root, "entries")).size() == 2);
  CHECK(text_at(*cut, "version") == "2.10");
}

TEST_CASE("text that is no JSON, or too deep, is refused") {
  CHECK(!read_json(""));
  CHECK(!read_json("{\"a\" 1}"));
  CHECK(!read_json("{\"a\": 1} x"));
  CHECK(!read_json(std::string(100, '[')));
  CHECK(read_json(std::string(60, '[')));
}

}  // namespace
}  // namespace oddrank::collectives
