#include "cpython/objects/strings.h"

#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::cpython {
namespace {

const Layout& layout_of(int minor) {
  return minor == 11 ? layout_3_11() : layout_3_12();
}

}  // namespace

TEST_CASE("strings of every kind become UTF-8", "[cpython]") {
  const int minor = GENERATE(11, 12);
  test::PythonHeap heap(layout_of(minor));
  PythonMemory memory = heap.memory();
  const auto read = [&](attach::Addr object) {
    return read_string(memory, object).value_or(PythonString{"?", false}).utf8;
  };
  const auto ascii = heap.str("train_step");
  const auto latin = heap.str(U"caf\xe9", 1);
  const auto wide = heap.str(U"\x8a13\x7df4", 2);
  const auto emoji = heap.str(U"a\x1f525", 4);
  const auto surrogate = heap.str(U"x\xdc80y", 2);
  const auto empty = heap.str("");
  CHECK(read(ascii) == "train_step");
  CHECK(read(latin) == "caf\xc3\xa9");
  CHECK(read(wide) == "\xe8\xa8\x93\xe7\xb7\xb4");
  CHECK(read(emoji) == "a\xf0\x9f\x94\xa5");
  CHECK(read(surrogate) == "x\xef\xbf\xbdy");
  CHECK(read(empty).empty());
}

TEST_CASE("a str that is not compact keeps its text elsewhere", "[cpython]") {
  test::PythonHeap heap(layout_3_11());
  const auto text = heap.allocate(16);
  heap.target().add_memory(text, "elsewhere");
  const auto object = heap.object(heap.str_type(), 128);
  heap.put(object + heap.layout().object.str_length, std::int64_t{9});
  heap.put(object + heap.layout().object.str_state, 1U << 2 | 1U << 6 | 1U << 7);
  heap.put_pointer(object + heap.layout().object.str_compact_data, text);
  PythonMemory memory = heap.memory();
  CHECK(read_string(memory, object)->utf8 == "elsewhere");
}

TEST_CASE("strings are cut, and nonsense is refused", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  const auto text = heap.str("0123456789");
  const auto other = heap.object(heap.type("list", TypeFlag::kList));
  const auto negative = heap.str("abc");
  heap.put(negative + heap.layout().object.str_length, std::int64_t{-5});
  const auto huge = heap.str("abc");
  heap.put(huge + heap.layout().object.str_length, std::int64_t{1} << 60);
  PythonMemory memory = heap.memory();
  const auto cut = read_string(memory, text, 4);
  CHECK(cut->utf8 == "0123");
  CHECK(cut->cut);
  CHECK_FALSE(read_string(memory, other));
  CHECK_FALSE(read_string(memory, negative));
  CHECK(read_string(memory, huge, 3)->cut);
  CHECK_FALSE(read_string(memory, attach::Addr{0}));
  CHECK_FALSE(read_string(memory, attach::Addr{0xdead0000}));
  CHECK_FALSE(read_string(memory, attach::Addr{~std::uint64_t{0} - 8}));
}

TEST_CASE("bytes objects have a bounded size", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  const auto good = heap.bytes("\x01\x02");
  const auto huge = heap.bytes("x");
  heap.put(huge + heap.layout().object.size, std::int64_t{-1});
  const auto text = heap.str("no bytes");
  PythonMemory memory = heap.memory();
  CHECK(read_bytes(memory, good)->size() == 2);
  CHECK_FALSE(read_bytes(memory, huge));
  CHECK_FALSE(read_bytes(memory, text));
}

}  // namespace oddrank::cpython
