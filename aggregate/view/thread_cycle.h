// Threads of one process that wait for each other: where the chain of lock owners leads, and
// whether it is a circle.
//
// Ways along waits: from thread to thread, from process to process, from task to task. Bounds them
// and finds circles, for all code; the caller says what waits for what.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "aggregate/frames/frame_model.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

template <typename T>
struct Way {
  std::vector<T> way;     // each waits for the next; only those before the circle, if there is one
  std::vector<T> circle;  // each waits for the next, the last for the first; may be empty

  // Returns the last one, which waits for none; T{} if there is a circle, or the way is empty.
  T end() const { return circle.empty() && !way.empty() ? way.back() : T{}; }
  std::vector<T> all() const;  // `way`, then `circle`
};

inline constexpr std::size_t kMaxWay = 256;

// Follows at most `most` waits from `first` on. `next`: returns what one waits for; T{} if nothing.
template <typename T, typename Next>
Way<T> follow(T first, const Next& next, std::size_t most = kMaxWay) {
  Way<T> found;
  for (T at = first; at != T{} && found.way.size() < most; at = next(at)) {
    const auto seen = std::ranges::find(found.way, at);
    if (seen != found.way.end()) {
      found.circle.assign(seen, found.way.end());
      found.way.erase(seen, found.way.end());
      break;
    }
    found.way.push_back(at);
  }
  return found;
}

template <typename T>
std::vector<T> Way<T>::all() const {
  std::vector<T> whole = way;
  whole.insert(whole.end(), circle.begin(), circle.end());
  return whole;
}

using ThreadList = std::vector<const snapshot::ThreadCapture*>;

// Returns the thread of the same process that `thread` waits for (possibly itself); null if its
// wait names none.
const snapshot::ThreadCapture* awaited_thread(const snapshot::ProcessCapture& process,
                                              const snapshot::ThreadCapture& thread);

// Follows the owners from `from` on. Threads that share an object such as a queue are no circle,
// since the queue may have further users: the way ends at the first thread that waits at one.
using ThreadChain = Way<const snapshot::ThreadCapture*>;
ThreadChain follow_threads(const snapshot::ProcessCapture& process,
                           const snapshot::ThreadCapture& from);

// Returns whether one of the waits is for the GIL.
bool has_gil(const ThreadList& circle);
// Returns whether one of the owners was inferred from frames.
bool is_inferred(const ThreadList& circle);
// Returns whether all threads stood at the same place in all samples, at least two. Threads that
// wait for the GIL do not count: they wake now and then, and go on only when the others do.
bool stands_still(const ThreadList& circle, FrameModel& model);

// Returns the last thread of a chain without a circle if it keeps the GIL while another thread
// wants it, although it sleeps or is in a call of a communication library (which may spin), at one
// place in all samples; else null. `process`: the chain's.
const snapshot::ThreadCapture* waiting_gil_owner(const snapshot::ProcessCapture& process,
                                                 const ThreadChain& chain,
                                                 FrameModel& model);

// Returns whether it waits for a lock that processes share and whose holder is not known: any of
// them may release it.
bool is_shared_lock(const snapshot::Wait& wait);

// Returns whether the thread waits for a Python lock, event or queue of its own process.
bool is_at_python_lock(const snapshot::ThreadCapture& thread);
// Returns the same for waits without a time limit only.
bool is_at_own_lock(const snapshot::ThreadCapture& thread);

// Returns whether no other Python thread is left that might end this one's wait.
bool is_last_of_python(const snapshot::ProcessCapture& process,
                       const snapshot::ThreadCapture& thread);

}  // namespace oddrank::aggregate
