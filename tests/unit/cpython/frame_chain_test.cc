#include "cpython/frame_chain.h"

#include <array>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"
#include "tests/unit/cpython/frames_on_heap.h"

namespace oddrank::cpython {
namespace {

using attach::Addr;
using test::put_frames;

// Returns "f" for a frame, "E" an entry frame, "-" a loop without a frame; "..." if the chain was
// cut.
std::string text(const FrameChain& chain) {
  std::string result;
  for (const RawFrame& frame : chain.frames) {
    result += frame.address == Addr{} ? '-' : frame.entry ? 'E' : 'f';
  }
  return result + (chain.cut ? "..." : "");
}

std::string read(const Layout& layout, std::string_view kinds) {
  test::PythonHeap heap(layout);
  const auto frames = put_frames(heap, kinds);
  PythonMemory memory = heap.memory();
  return text(read_chains(memory, std::span(frames).first(1))[0]);
}

}  // namespace

TEST_CASE("entry frames in each version", "[cpython]") {
  CHECK(read(layout_3_8(), "fff") == "EEE");
  CHECK(read(layout_3_10(), "fff") == "EEE");
  CHECK(read(layout_3_11(), "ffefe") == "ffEfE");
  CHECK(read(layout_3_12(), "ffsfs") == "fEE");
  CHECK(read(layout_3_13(false), "fsfffs") == "EffE");
  // The chain of 3.12+ ends with a shim; without one the outermost frame is an entry all the same.
  CHECK(read(layout_3_12(), "ff") == "fE");
}

TEST_CASE("no loop evaluates a frame of Nuitka", "[cpython]") {
  CHECK(read(layout_3_8(), "fnnfn") == "EffEf");
  CHECK(read(layout_3_10(), "nf") == "fE");
}

TEST_CASE("a loop without a frame keeps its place", "[cpython]") {
  CHECK(read(layout_3_12(), "sfs") == "-E");
  CHECK(read(layout_3_12(), "fssfs") == "E-E");
}

TEST_CASE("the frame below all others is no loop", "[cpython]") {
  CHECK(read(layout_3_14(false), "fss") == "E-");
  CHECK(read(layout_3_15(false), "fss") == "E");
  CHECK(read(layout_3_15(false), "fsfss") == "EE");
  CHECK(read(layout_3_15(true), "sfss") == "-E");
}

TEST_CASE("a chain is whole if it ends where a thread's stack ends", "[cpython]") {
  const auto is_whole = [](const Layout& layout, std::string_view kinds) {
    test::PythonHeap heap(layout);
    const auto frames = put_frames(heap, kinds);
    PythonMemory memory = heap.memory();
    return read_chains(memory, std::span(frames).first(1))[0].whole;
  };
  CHECK(is_whole(layout_3_8(), "fff"));
  CHECK(is_whole(layout_3_11(), "ffe"));
  CHECK_FALSE(is_whole(layout_3_10(), "fn"));
  CHECK_FALSE(is_whole(layout_3_11(), "ff"));
  CHECK(is_whole(layout_3_12(), "ffs"));
  CHECK_FALSE(is_whole(layout_3_12(), "ff"));
  CHECK(is_whole(layout_3_15(false), "fss"));
}

TEST_CASE("tags of references are taken off", "[cpython]") {
  const Layout& layout = layout_3_14(false);
  test::PythonHeap heap(layout);
  const auto frames = put_frames(heap, "ffs");
  heap.put_pointer(frames[0] + layout.frame.code, Addr{0x2001});
  heap.put_pointer(frames[1] + layout.frame.code, Addr{0x2000 | 3});
  PythonMemory memory = heap.memory();
  const auto chain = read_chains(memory, std::span(frames).first(1))[0];
  CHECK(chain.frames[0].code == Addr{0x2000});
  CHECK(chain.frames[1].code == Addr{});  // a number
  CHECK(chain.innermost_shim == frames[2]);
}

TEST_CASE("threads are followed side by side", "[cpython]") {
  test::PythonHeap heap(layout_3_11());
  const auto first = put_frames(heap, "fe");
  const auto second = put_frames(heap, "ffffe");
  PythonMemory memory = heap.memory();
  const std::array<Addr, 4> newest = {first[0], Addr{}, second[0], Addr{0xdead0000}};
  const auto chains = read_chains(memory, newest);
  REQUIRE(chains.size() == 4);
  CHECK(text(chains[0]) == "fE");
  CHECK(text(chains[1]).empty());
  CHECK(text(chains[2]) == "ffffE");
  CHECK(text(chains[3]) == "...");
  CHECK(chains[2].frames[4].code == Addr{0x1004});
}

TEST_CASE("chains that do not end are cut", "[cpython]") {
  test::PythonHeap heap(layout_3_11());
  const auto frames = put_frames(heap, "ffffffe");
  PythonMemory limited = heap.memory();
  CHECK(text(read_chains(limited, std::span(frames).first(1), 3)[0]) == "fff...");

  heap.put_pointer(frames[6] + heap.layout().frame.previous, frames[2]);
  PythonMemory memory = heap.memory();
  const auto circle = read_chains(memory, std::span(frames).first(1))[0];
  CHECK(circle.cut);
  CHECK(circle.frames.size() < 32);

  heap.put_pointer(frames[1] + heap.layout().frame.previous, frames[1]);
  PythonMemory again = heap.memory();
  CHECK(read_chains(again, std::span(frames).first(1))[0].cut);

  heap.put_pointer(frames[3] + heap.layout().frame.previous, Addr{0xdead0000});
  PythonMemory broken = heap.memory();
  CHECK(text(read_chains(broken, std::span(frames).subspan(2, 1))[0]) == "ff...");
}

}  // namespace oddrank::cpython
