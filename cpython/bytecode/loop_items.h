// How far a loop is from its end: how many items a `for` loop's iterator has left, and how far the
// value that a `while` loop tests is from ending it.
//
// Two samples of the same loop then show whether it gets on. `while todo:` ends when the list is
// empty, `while done < total:` when the two numbers meet, `while len(found) < 8:` alike; so does
// `if not todo: break`. A generator is as far from its end as the loop in its own code.
#pragma once

#include <cstdint>
#include <optional>

#include "cpython/bytecode/code_analysis.h"
#include "cpython/bytecode/loops.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

struct LoopEnd {
  std::int64_t left = 0;  // never negative
  bool items = false;     // `left` counts items, of which there are some
};

class LoopItems {
 public:
  // For one loop. Both must outlive the object.
  LoopItems(PythonMemory& memory, CodeAnalysis& analysis);

  // Returns the end of a loop of the frame's code; the nearest of several. nullopt: none is known.
  std::optional<LoopEnd> end(const AnalysedCode& code, const CodeLoop& loop, const RawFrame& frame);

 private:
  std::optional<std::int64_t> left_of_iterator(const AnalysedCode& code,
                                               const CodeLoop& loop,
                                               const RawFrame& frame);
  std::optional<std::int64_t> left_of_generator(Addr generator);

  PythonMemory& memory_;
  CodeAnalysis& analysis_;
  int generators_ = 0;  // that were read
};

}  // namespace oddrank::cpython
