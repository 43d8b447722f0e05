#include "cpython/objects/contents.h"

#include <array>

#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::cpython {
namespace {

using attach::Addr;

std::string show(const test::PythonHeap& heap, Addr object, unsigned depth = 2) {
  PythonMemory memory = heap.memory();
  return ContentsPrinter(memory, {depth, false}).print("x", object);
}

Addr put_dict(test::PythonHeap& heap,
              const std::vector<std::pair<Addr, Addr>>& items,
              std::int64_t used) {
  const Layout& layout = heap.layout();
  const Addr keys = heap.allocate(4096);
  heap.put(keys + layout.keys.size, std::uint8_t{3});
  heap.put(keys + layout.keys.index_bytes, std::uint8_t{3});
  heap.put(keys + layout.keys.kind, std::uint8_t{1});
  heap.put(keys + layout.keys.count, static_cast<std::int64_t>(items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Addr at = keys + layout.keys.indices + 8 + i * 16;
    heap.put_pointer(at, items[i].first);
    heap.put_pointer(at + 8, items[i].second);
  }
  const Addr dict = heap.object(heap.type("dict", TypeFlag::kDict));
  heap.put(dict + layout.object.dict_used, used);
  heap.put_pointer(dict + layout.object.dict_keys, keys);
  return dict;
}

}  // namespace

TEST_CASE("dicts show their items, secrets of any depth are hidden", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  const Addr inner = put_dict(heap, {{heap.str("api_key"), heap.str("kitten")}}, 1);
  const Addr dict = put_dict(
      heap, {{heap.str("a"), heap.str("b")}, {Addr{}, heap.str("removed")}, {heap.str("c"), inner}},
      2);
  CHECK(show(heap, dict) == "{'a': 'b', 'c': {'api_key': ***}}");
  CHECK(show(heap, dict, 1) == "{'a': 'b', 'c': <dict of 1>}");
  PythonMemory memory = heap.memory();
  CHECK(ContentsPrinter(memory, {2, false}).print("password", heap.str("kitten")) == "<hidden>");
  CHECK(ContentsPrinter(memory, {2, true}).print("x", dict).find("@0x") != std::string::npos);
}

TEST_CASE("what contains itself ends, at every depth", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  const Addr self = heap.tuple({Addr{}, Addr{}});
  heap.put_pointer(self + heap.layout().object.tuple_items, self);
  heap.put_pointer(self + heap.layout().object.tuple_items + 8, heap.str("a"));
  CHECK(show(heap, self, 8) == "(..., 'a')");
  // Two that contain each other.
  const Addr other = heap.tuple({self});
  heap.put_pointer(self + heap.layout().object.tuple_items, other);
  CHECK(show(heap, self, 8) == "((...,), 'a')");
}

TEST_CASE("a tree of many objects ends with the room for its text", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  Addr tree = heap.str("leaf");
  for (int i = 0; i < 8; ++i) {
    tree = heap.tuple(std::vector<Addr>(10, tree));
  }
  for (const unsigned depth : {2U, 8U}) {
    const std::string text = show(heap, tree, depth);
    CHECK(text.size() < 8192);
    CHECK(text.find("items") != std::string::npos);
  }
}

TEST_CASE("after many objects the short form is printed", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  const Addr row = heap.tuple(std::vector<Addr>(10, heap.str("a")));
  PythonMemory memory = heap.memory();
  ContentsPrinter printer(memory, {2, false});
  const std::string first = printer.print("x", row);
  std::string last;
  for (int i = 0; i < 6000; ++i) {
    last = printer.print("x", row);
  }
  CHECK(first.starts_with("('a', 'a', 'a', 'a', 'a'"));
  CHECK(last == "('a', 'a', 'a', 'a', ... 10 items)");
}

TEST_CASE("corrupt containers", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  const ObjectOffsets& offsets = heap.layout().object;
  const Addr dict = put_dict(heap, {{heap.str("a"), Addr{0xdead0000}}}, 1);
  CHECK(show(heap, dict) == "{'a': <unreadable>}");
  heap.put(dict + offsets.dict_used, std::int64_t{-5});
  CHECK(show(heap, dict) == "<unreadable>");
  heap.put(dict + offsets.dict_used, std::int64_t{1} << 60);
  CHECK(show(heap, dict) == "{'a': <unreadable>, ... 1152921504606846976 items}");
  heap.put_pointer(dict + offsets.dict_keys, Addr{0xdead0000});
  CHECK(show(heap, dict) == "{... 1152921504606846976 items}");
  heap.put_pointer(dict + offsets.dict_values, dict);  // split, with values that are none
  CHECK(show(heap, dict) == "{... 1152921504606846976 items}");
  const Addr list = heap.object(heap.type("list", TypeFlag::kList));
  heap.put(list + offsets.size, std::int64_t{1} << 60);
  CHECK(show(heap, list).size() < 400);
  const Addr array = heap.object(heap.type("bytearray"));
  heap.put(array + offsets.size, std::int64_t{1} << 60);
  CHECK(show(heap, array) == "<unreadable>");
  const Addr bytes = heap.bytes("abc");
  heap.put(bytes + offsets.size, std::int64_t{-1});
  CHECK(show(heap, bytes).size() < 400);
  const Addr queue = heap.object(heap.type("collections.deque"));
  heap.put(queue + offsets.size, std::int64_t{1} << 40);
  heap.put(queue + offsets.size + 24, std::uint64_t{63});
  CHECK(show(heap, queue) == "deque([... 1099511627776 items])");
  const Addr set = heap.object(heap.type("set"));
  heap.put(set + offsets.set_mask, std::uint64_t{7});
  heap.put(set + offsets.set_mask - 8, std::int64_t{3});
  heap.put_pointer(set + offsets.set_table, Addr{0xdead0000});
  CHECK(show(heap, set) == "{... 3 items}");
}

TEST_CASE("classes that lie", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  const Layout& layout = heap.layout();
  // A class whose order of bases contains itself, and whose dict is its own instance.
  const Addr type = heap.allocate(1024);
  const Addr name = heap.allocate(8);
  heap.target().add_memory(name, std::string("Loop\0", 5));
  heap.put_pointer(type + layout.object.type_name, name);
  heap.put_pointer(type + layout.object.type, type);
  heap.put_pointer(type + layout.object.type_dict_offset + 56, heap.tuple({type, type, type}));
  heap.put_pointer(type + layout.object.type_flags + 96, type);
  heap.put(type + layout.object.type_dict_offset, std::int64_t{-7});
  const Addr object = heap.object(type);
  heap.put(object + layout.object.size, std::int64_t{1} << 50);
  CHECK(show(heap, object, 8) == "<Loop>");
}

TEST_CASE("long ints are written in full up to 2048 bits", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  const Addr big = heap.object(heap.type("int", TypeFlag::kInt), 64);
  heap.put(big + heap.layout().object.int_tag, std::int64_t{(4 << 3) | 2});
  for (std::size_t i = 0; i < 4; ++i) {
    heap.put(big + heap.layout().object.int_digits + i * 4, std::uint32_t{i == 3 ? 1U : 0U});
  }
  CHECK(show(heap, big) == "-1237940039285380274899124224");  // -2**90
  heap.put(big + heap.layout().object.int_tag, std::int64_t{1} << 60);
  CHECK(show(heap, big).starts_with("<int of "));
}

}  // namespace oddrank::cpython
