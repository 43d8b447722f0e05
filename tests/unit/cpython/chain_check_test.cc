#include "cpython/chain_check.h"

#include <array>

#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"
#include "tests/unit/cpython/frames_on_heap.h"

namespace oddrank::cpython {
namespace {

// A thread with three frames, as it was read; what it does then is up to the test.
struct ReadThread {
  explicit ReadThread(const Layout& layout) : heap(layout) {
    frames = test::put_frames(heap, layout.semantics.shim_owner == kNoOwner ? "ffe" : "ffs");
    row.address = heap.allocate(512);
    newest_at = row.address + layout.thread.frame;
    if (layout.thread.cframe != kAbsent) {
      row.native_anchor = heap.allocate(64);
      heap.put_pointer(row.address + layout.thread.cframe, row.native_anchor);
      newest_at = row.native_anchor + layout.thread.frame;
    }
    row.newest_frame = frames[0];
    heap.put_pointer(newest_at, frames[0]);
    if (layout.frame.executing != kAbsent) {
      for (const attach::Addr frame : frames) {
        heap.put(frame + layout.frame.executing, layout.semantics.executing);
      }
    }
    PythonMemory memory = heap.memory();
    chain = read_chains(memory, std::span(frames).first(1))[0];
  }

  bool stands() const { return stands_still(heap.target(), heap.layout(), row, chain.frames); }

  test::PythonHeap heap;
  std::vector<attach::Addr> frames;
  ThreadStateRow row;
  attach::Addr newest_at{};
  FrameChain chain;
};

const std::array<const Layout*, 9> kLayouts = {
    &layout_3_8(),       &layout_3_9(),       &layout_3_10(),
    &layout_3_11(),      &layout_3_12(),      &layout_3_13(false),
    &layout_3_14(false), &layout_3_15(false), &layout_3_14(true)};

}  // namespace

TEST_CASE("a chain of a thread that has not moved stands", "[cpython]") {
  for (const Layout* layout : kLayouts) {
    CHECK(ReadThread(*layout).stands());
  }
}

TEST_CASE("calls, returns and moves of callers are noticed in each version", "[cpython]") {
  for (const Layout* layout : kLayouts) {
    const FrameOffsets& offsets = layout->frame;
    ReadThread other_code(*layout);
    other_code.heap.put_pointer(other_code.frames[1] + offsets.code, attach::Addr{0x9000});
    CHECK_FALSE(other_code.stands());
    ReadThread other_caller(*layout);
    other_caller.heap.put_pointer(other_caller.frames[0] + offsets.previous, attach::Addr{0x9000});
    CHECK_FALSE(other_caller.stands());
    ReadThread moved_on(*layout);
    moved_on.heap.put(moved_on.frames[1] + offsets.instruction, std::uint32_t{77});
    CHECK_FALSE(moved_on.stands());
    ReadThread returned(*layout);
    returned.heap.put_pointer(returned.newest_at, returned.frames[1]);
    CHECK_FALSE(returned.stands());
    ReadThread works(*layout);  // within the innermost frame
    works.heap.put(works.frames[0] + offsets.instruction, std::uint32_t{77});
    CHECK(works.stands());
  }
}

TEST_CASE("up to 3.10 a frame whose call has returned gives a chain away", "[cpython]") {
  for (const Layout* layout : {&layout_3_8(), &layout_3_10()}) {
    ReadThread thread(*layout);
    thread.heap.put(thread.frames[1] + layout->frame.executing,
                    std::int8_t(1 - layout->semantics.executing));
    CHECK_FALSE(thread.stands());
  }
}

TEST_CASE("a chain in memory that is gone does not stand", "[cpython]") {
  ReadThread thread(layout_3_13(false));
  thread.chain.frames[0].address = attach::Addr{0xdead0000};
  CHECK_FALSE(thread.stands());
}

}  // namespace oddrank::cpython
