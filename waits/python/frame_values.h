// Objects in the slots of a Python frame: its locals, and the values that calls and `with`s in
// progress have put on its value stack.
//
// An executing frame does not record how much of its stack is in use, and slots above keep old
// pointers: an object found there proves nothing. But the depth to which the interpreter would
// unwind is stored: in the code's exception table from 3.11 on, in the frame's block stack before.
// All slots below that depth are in use. The body of a `with` is such a range, and begins only
// after __enter__ has returned; so an __exit__ below that depth belongs to a `with` that has been
// entered and not left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"
#include "cpython/python_sample.h"

namespace oddrank::waits {

// Caches facts about code: many frames run the same code.
class FrameValues {
 public:
  // `python` must outlive the object.
  explicit FrameValues(cpython::PythonSample& python) : python_(python), memory_(python.memory()) {}

  // Returns the objects in stack slots that are certainly in use, outermost first; bounded. Empty
  // if there are none, and for generated code without a table, where they are unknown.
  std::vector<attach::Addr> live(const cpython::RawFrame& frame);

  // Returns the objects of all slots of the frame, in use or not, locals first. Trust an object
  // only if it proves itself.
  std::vector<attach::Addr> all(const cpython::RawFrame& frame);

  // Returns the first argument; null if it is no longer bound.
  attach::Addr self(const cpython::RawFrame& frame);

  // Returns a variable that is not a cell; null if there is none of this name, or it is not bound.
  attach::Addr local(const cpython::RawFrame& frame, std::string_view name);

 private:
  std::size_t live_depth(const cpython::RawFrame& frame);
  std::size_t count_locals(attach::Addr code);
  attach::Addr slot(const cpython::RawFrame& frame, std::size_t index);
  attach::Addr stack_base(const cpython::RawFrame& frame);
  std::vector<attach::Addr> read_slots(attach::Addr base, std::size_t count);

  cpython::PythonSample& python_;
  cpython::PythonMemory& memory_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> depths_;  // code, instruction
  std::unordered_map<std::uint64_t, std::size_t> locals_;                  // by code
};

}  // namespace oddrank::waits
