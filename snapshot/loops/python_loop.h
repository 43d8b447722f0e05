// A loop of Python code that a thread is in, and what it polls for.
//
// A program may wait in its own code: it checks whether a file exists, work is done or a key was
// set, and sleeps in between. Its system call shows only the sleep. The loop's calls show what it
// waits for; a loop that only sleeps waits for nothing.
//
// The kinds of things that threads poll for (loop_polls.h finds them).
//
// Where in its function a Python frame stands: to compare ranks that run one program
// (cpython/bytecode/frame_loops.h).
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

// What a poll asks for. The values are ordered: if a loop asks for several, the first counts.
enum class PollOn : std::uint8_t {
  kUnknown,     // something unknown, which may come from anywhere
  kLockFile,    // flock(LOCK_NB), mkdir or O_EXCL as a lock, filelock
  kKey,         // a key of a store
  kWork,        // communication that was begun: Work, a request of MPI
  kDevice,      // an event or a stream of the device
  kChild,       // a process
  kThread,      // a thread, or a task of a pool
  kLock,        // a lock, by trying it
  kEvent,       // an event that another thread sets
  kQueue,       // an item
  kDatabase,    // a lock of a database
  kFile,        // the existence or contents of a file or directory
  kConnection,  // a peer that listens or answers
};

// Returns whether another thread of the same process gives what is polled for.
constexpr bool is_of_own_process(PollOn on) {
  return on == PollOn::kThread || on == PollOn::kLock || on == PollOn::kEvent ||
         on == PollOn::kQueue;
}

inline constexpr std::size_t kMaxPlaces = 32;        // of one thread, from the innermost frame on
inline constexpr std::size_t kMaxTurns = 3;          // of one place
inline constexpr std::size_t kMaxPassedRanges = 32;  // the same

// A loop around the frame's instruction.
struct LoopTurn {
  std::uint32_t line = 0;  // of its head
  std::int64_t left = -1;  // turns still to come; -1 = unknown
  // Only an exception leads to the next turn: `while True: try: return get()`.
  bool retries = false;

  bool operator==(const LoopTurn&) const = default;
};

struct LineRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  bool operator==(const LineRange&) const = default;
};

struct FramePlace {
  std::uint32_t frame = 0;     // index into the frames of the last sample's (python_)stack
  SlimVector<LoopTurn> turns;  // outermost first
  // Lines of calls that control may have passed on its way here, since the function was entered and
  // within the present turns of the loops: ascending.
  SlimVector<LineRange> passed;

  // Returns whether the innermost loop around it tries something until it succeeds.
  bool retries() const { return !turns.empty() && turns.back().retries; }

  bool operator==(const FramePlace&) const = default;
};

}  // namespace oddrank::snapshot
