#include "cpython/objects/objects.h"

#include "cpython/locals.h"
#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::cpython {
namespace {

using attach::Addr;

std::string print(const test::PythonHeap& heap, Addr object) {
  PythonMemory memory = heap.memory();
  return print_object(memory, object);
}

// Writes an int; `tag` is the version's ob_size or lv_tag.
Addr put_int(test::PythonHeap& heap,
             std::string_view type,
             std::int64_t tag,
             std::vector<std::uint32_t> digits) {
  const Addr object = heap.object(heap.type(type, TypeFlag::kInt));
  heap.put(object + heap.layout().object.int_tag, tag);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    heap.put(object + heap.layout().object.int_digits + i * 4, digits[i]);
  }
  return object;
}

}  // namespace

TEST_CASE("ints before 3.12 keep their sign in the size", "[cpython]") {
  test::PythonHeap heap(layout_3_11());
  CHECK(print(heap, put_int(heap, "int", 0, {})) == "0");
  CHECK(print(heap, put_int(heap, "int", 1, {1207})) == "1207");
  CHECK(print(heap, put_int(heap, "int", -2, {1, 1})) == "-1073741825");
  CHECK(print(heap, put_int(heap, "int", 3, {0, 0, 1})) == "<int of 61 bits>");
  CHECK(print(heap, put_int(heap, "bool", 1, {1})) == "True");
  CHECK(print(heap, put_int(heap, "bool", 0, {})) == "False");
  CHECK(print(heap, put_int(heap, "ReduceOp", 1, {2})) == "ReduceOp(2)");
}

TEST_CASE("ints from 3.12 on have a tag", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  CHECK(print(heap, put_int(heap, "int", 1, {0})) == "0");
  CHECK(print(heap, put_int(heap, "int", 1 << 3, {7})) == "7");
  CHECK(print(heap, put_int(heap, "int", (2 << 3) | 2, {5, 1})) == "-1073741829");
  CHECK(print(heap, put_int(heap, "bool", 1, {0})) == "False");
  CHECK(print(heap, put_int(heap, "int", std::int64_t{1} << 62, {7})).substr(0, 8) == "<int of ");
}

TEST_CASE("floats are printed as repr() does", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  const Addr type = heap.type("float");
  const auto text = [&](double value) {
    const Addr object = heap.object(type);
    heap.put(object + heap.layout().object.float_value, value);
    return print(heap, object);
  };
  CHECK(text(0.5) == "0.5");
  CHECK(text(100000) == "100000.0");
  CHECK(text(-0.0) == "-0.0");
  CHECK(text(1e-5) == "1e-05");
  CHECK(text(3e20) == "3e+20");
  CHECK(text(0.1) == "0.1");
}

TEST_CASE("texts are escaped and cut, containers are shallow", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  CHECK(print(heap, heap.str("it's\n\x1b[0m\\")) == "'it\\'s\\n\\x1b[0m\\\\'");
  CHECK(print(heap, heap.str(std::string(200, 'x'))) == "'" + std::string(80, 'x') + "'...");
  CHECK(print(heap, heap.bytes("abc")) == "<bytes of 3>");
  const Addr one = heap.str("a");
  CHECK(print(heap, heap.tuple({})) == "()");
  CHECK(print(heap, heap.tuple({one})) == "('a',)");
  CHECK(print(heap, heap.tuple({one, one})) == "('a', 'a')");
  CHECK(print(heap, heap.tuple({one, one, one, one, one})) == "('a', 'a', 'a', 'a', ... 5 items)");
  CHECK(print(heap, heap.tuple({heap.tuple({heap.tuple({one})})})) == "(((...),),)");
  const Addr dict = heap.object(heap.type("dict", TypeFlag::kDict));
  heap.put(dict + heap.layout().object.dict_used, std::int64_t{12});
  CHECK(print(heap, dict) == "<dict of 12>");
  const Addr set = heap.object(heap.type("set"));
  heap.put(set + heap.layout().object.set_mask - 8, std::int64_t{4});
  CHECK(print(heap, set) == "<set of 4>");
  CHECK(print(heap, heap.object(heap.type("NoneType"))) == "None");
  CHECK(print(heap, heap.object(heap.type("torch._C.Tensor"))) == "<Tensor>");
}

TEST_CASE("damaged objects", "[cpython]") {
  test::PythonHeap heap(layout_3_12());
  CHECK(print(heap, Addr{}) == "<unreadable>");
  CHECK(print(heap, Addr{0xdead0000}) == "<unreadable>");
  CHECK(print(heap, heap.object(Addr{0xdead0000})) == "<unreadable>");
  // A tuple that contains itself ends with the depth; one of impossible size is not followed.
  const Addr self = heap.tuple({Addr{}});
  heap.put_pointer(self + heap.layout().object.tuple_items, self);
  CHECK(print(heap, self) == "(((...),),)");
  heap.put(self + heap.layout().object.size, std::int64_t{-1});
  CHECK(print(heap, self) == "<unreadable>");
  heap.put(self + heap.layout().object.size, std::int64_t{1} << 40);
  CHECK(print(heap, self).size() < 400);
}

TEST_CASE("locals have names, cells show their contents, secrets are not read", "[cpython]") {
  test::PythonHeap heap(layout_3_11());
  const Layout& layout = heap.layout();
  const Addr code = heap.allocate(layout.code.size);
  const Addr frame = heap.allocate(512);
  const Addr cell = heap.object(heap.type("cell"));
  heap.put_pointer(cell + layout.object.cell_value, heap.str("inside"));
  const std::vector<Addr> values = {heap.str("gloo"), heap.str("hf_abc"), Addr{}, cell, cell};
  heap.put_pointer(code + layout.code.local_names,
                   heap.tuple({heap.str("backend"), heap.str("HF_Token"), heap.str("unbound"),
                               heap.str("shared"), heap.str("a_cell")}));
  heap.put_pointer(code + layout.code.local_kinds, heap.bytes("\x20\x20\x20\x40\x20"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    heap.put_pointer(frame + layout.frame.localsplus + i * 8, values[i]);
  }
  PythonMemory memory = heap.memory();
  const auto locals =
      read_locals(memory, RawFrame{.address = frame, .code = code, .entry = true}, false);
  REQUIRE(locals.size() == 4);
  CHECK(locals[0].name == "backend");
  CHECK(locals[0].value == "'gloo'");
  CHECK(locals[1].name == "HF_Token");
  CHECK(locals[1].value == "<hidden>");
  CHECK(locals[2].name == "shared");
  CHECK(locals[2].value == "'inside'");
  CHECK(locals[3].value == "<cell>");
  CHECK(read_locals(memory, RawFrame{.address = frame, .code = Addr{0xdead0000}, .entry = true},
                    false)
            .empty());
  CHECK(read_locals(memory, RawFrame{.address = frame, .code = code, .entry = true}, true).size() ==
        3);
}

TEST_CASE("variables of a frame beyond the limit are counted", "[cpython]") {
  test::PythonHeap heap(layout_3_11());
  const Layout& layout = heap.layout();
  for (const std::size_t count : {kMaxLocals, kMaxLocals + 1, 10 * kMaxLocals}) {
    INFO(count);
    const Addr code = heap.allocate(layout.code.size);
    const Addr frame = heap.allocate(512 + 8 * count);
    const Addr value = heap.str("x");
    heap.put_pointer(code + layout.code.local_names, heap.tuple(std::vector<Addr>(count, value)));
    heap.put_pointer(code + layout.code.local_kinds, heap.bytes(std::string(count, '\x20')));
    for (std::size_t i = 0; i < count; ++i) {
      heap.put_pointer(frame + layout.frame.localsplus + i * 8, value);
    }
    PythonMemory memory = heap.memory();
    const RawFrame raw{.address = frame, .code = code, .entry = true};
    const auto locals = read_locals(memory, raw, false);
    const std::size_t others = count - kMaxLocals;
    REQUIRE(locals.size() == kMaxLocals + (others > 0 ? 1 : 0));
    if (others > 0) {
      CHECK(locals.back().name == "...");
      CHECK(locals.back().value == "<" + std::to_string(others) + " more>");
    }
    CHECK(read_locals(memory, raw, true).size() == kMaxLocals);  // what decides, not what is shown
  }
}

}  // namespace oddrank::cpython
