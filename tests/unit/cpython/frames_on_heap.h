// Frames of Python in the memory of a FakeTarget.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::test {

// Writes frames given as text, innermost first: "f" a frame, "e" a frame with is_entry, "s" a shim,
// "n" one of Nuitka.
inline std::vector<attach::Addr> put_frames(PythonHeap& heap, std::string_view kinds) {
  const cpython::FrameOffsets& offsets = heap.layout().frame;
  std::vector<attach::Addr> frames;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    frames.push_back(heap.allocate(offsets.localsplus));
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const attach::Addr previous = i + 1 < kinds.size() ? frames[i + 1] : attach::Addr{};
    heap.put_pointer(frames[i] + offsets.previous, previous);
    if (kinds[i] == 'n') {
      heap.put_pointer(frames[i] + heap.layout().object.type, heap.type("compiled_frame"));
    }
    heap.put_pointer(frames[i] + offsets.code, attach::Addr{0x1000 + i});
    if (offsets.is_entry != cpython::kAbsent) {
      heap.put(frames[i] + offsets.is_entry, std::uint8_t{kinds[i] == 'e'});
    }
    if (heap.layout().semantics.shim_owner != cpython::kNoOwner) {
      heap.put(frames[i] + offsets.owner, std::uint8_t(kinds[i] == 's' ? 3 : 0));
    }
  }
  return frames;
}

}  // namespace oddrank::test
