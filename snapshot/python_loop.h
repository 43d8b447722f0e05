// A loop of Python code that a thread is in, and what the loop asks for.
//
// A thread that waits may do so in code of its own: it looks whether a file is there, whether work
// is done, whether a key was set, and sleeps in between. Its system call shows nothing but the
// sleep. What the loop calls shows what it waits for; a loop that calls only a sleep waits for
// nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

inline constexpr std::size_t kMaxLoops = 8;       // of one thread
inline constexpr std::size_t kMaxLoopCalls = 16;  // of one loop

// What a call in a loop is told to act on, if that is a text, a path or a list of texts.
struct LoopCall {
  // The last part of the called name as the code has it: "exists" of os.path.exists(marker). Empty:
  // what is called has no name ("handlers[0]()").
  StringId name{};
  // The value of the first such argument, as text, cut and masked like a local: "'/data/ready'".
  // Empty: there is none, or its value is not known.
  StringId object{};

  bool operator==(const LoopCall&) const = default;
};

struct PythonLoop {
  std::uint32_t frame = 0;  // index into the frames of the last sample's (python_)stack
  bool iterates = false;    // a `for` loop: it ends with what it iterates over
  bool cut = false;         // it calls more than is listed
  // The calls in the loop's code and in that of the comprehensions within it, in the order of the
  // code; equal rows once.
  std::vector<LoopCall> calls;

  bool operator==(const PythonLoop&) const = default;
};

}  // namespace oddrank::snapshot
