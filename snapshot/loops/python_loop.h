// A loop of Python code that a thread is in, and what it polls for.
//
// A program may wait in its own code: it checks whether a file exists, work is done or a key was
// set, and sleeps in between. Its system call shows only the sleep. The loop's calls show what it
// waits for; a loop that only sleeps waits for nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/small/slim_vector.h"
#include "snapshot/ids.h"
#include "snapshot/wait.h"

namespace oddrank::snapshot {

inline constexpr std::size_t kMaxLoops = 8;       // of one thread
inline constexpr std::size_t kMaxLoopCalls = 16;  // of one loop

// A call in a loop, and what it acts on if that is a text, a path or a list of texts.
struct LoopCall {
  // The last part of the called name as in the code, after the function's module or the object's
  // type if known: "posixpath.exists" of os.path.exists(marker), "threading.Event.is_set" of
  // done.is_set(). Empty: it has no name ("handlers[0]()").
  StringId name{};
  // The first such argument as text, without quotes, cut and masked like a local: "/data/ready". A
  // text that the code composes ("{folder}/{rank}.done") is made from the current values of its
  // parts. Empty: there is none, or its value is unknown.
  StringId object{};
  bool moves_on = false;            // in an earlier sample it acted on another object
  bool ends = false;                // if it returns, the loop ends: `try: return load(open(path))`
  Known may_end = Known::kUnknown;  // the loop, by what the call returns

  bool operator==(const LoopCall&) const = default;
};

struct PythonLoop {
  std::uint32_t frame = 0;  // index into the frames of the last sample's (python_)stack
  bool iterates = false;    // over items: a `for` loop, or one that empties a container
  bool endless = false;     // only an exception leads out of it: `while True: sleep(1)`
  bool cut = false;         // it calls more than is listed
  // The items that are left, or how far the tested number is from the loop's end: in the last
  // sample, and in the first one in this loop; -1 = unknown.
  std::int64_t left = -1;
  std::int64_t left_before = -1;
  std::int64_t between_ms = 0;  // these two samples
  // The calls in the loop's code, in the order of the code, equal rows once. A short function of
  // the same file, or a comprehension, is replaced by the calls that it makes.
  SlimVector<LoopCall> calls;

  bool operator==(const PythonLoop&) const = default;
};

}  // namespace oddrank::snapshot
