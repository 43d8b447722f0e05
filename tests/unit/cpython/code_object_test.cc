#include "cpython/code_object.h"

#include <cstdint>

#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::cpython {
namespace {

using attach::Addr;

// Returns the line of a frame whose object says `told`. Its code begins at line 10; `table`: the
// line table.
std::uint32_t line_told(const Layout& layout, std::int32_t told, std::vector<std::byte> table) {
  test::PythonHeap heap(layout);
  RawFrame frame;
  frame.address = heap.allocate(layout.frame.localsplus);
  frame.object = layout.frame.object == kAbsent ? frame.address : heap.allocate(64);
  heap.put(frame.object + layout.frame.line, told);
  CodeObject code;
  code.first_line = 10;
  code.line_table = std::move(table);
  PythonMemory memory = heap.memory();
  return line_of(memory, code, frame);
}

}  // namespace

TEST_CASE("a frame's object may tell its line", "[cpython]") {
  const std::vector<std::byte> table{std::byte{2}, std::byte{1}};
  for (const Layout* layout :
       {&layout_3_10(), &layout_3_11(), &layout_3_12(), &layout_3_13(true), &layout_3_15(false)}) {
    INFO(int{layout->semantics.opcodes});
    CHECK(line_told(*layout, 14, {}) == 14);
    CHECK(line_told(*layout, 14, table) == 14);
    CHECK(line_told(*layout, 0, {}) == 0);
    CHECK(line_told(*layout, -5, {}) == 0);
  }
}

TEST_CASE("up to 3.9 it counts only where the code has no lines", "[cpython]") {
  const std::vector<std::byte> table{std::byte{2}, std::byte{1}};
  CHECK(line_told(layout_3_8(), 14, {}) == 14);
  CHECK(line_told(layout_3_8(), 14, table) == 10);
  CHECK(line_told(layout_3_8(), 0, {}) == 10);
}

}  // namespace oddrank::cpython
