// How much of a process's threads and tasks the JSON report lists, so that no job makes it larger
// than what a program can read. Private to report/.
#pragma once

#include <cstddef>

#include "aggregate/view/job_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::report {

// At most this many frames of a thread are listed: the innermost.
inline constexpr std::size_t kMaxListedFrames = 4096;

// Returns how many objects the list of a process's threads and tasks has.
std::size_t listed_objects(const aggregate::JobView& view, const snapshot::ProcessCapture& process);

// The room that a process's threads and tasks share.
class ListingRoom {
 public:
  explicit ListingRoom(const aggregate::JobView& view) : view_(view) {}

  // Takes room for a thread, and returns for how many of its frames, with their variables: the
  // innermost. A long stack is cut rather than left out; 0: there is no room for the thread.
  std::size_t take(const snapshot::ThreadCapture& thread);
  // Takes room for a task; false if the task does not fit.
  bool take(const snapshot::AsyncTask& task);
  std::size_t taken() const { return taken_; }

 private:
  const aggregate::JobView& view_;
  std::size_t taken_ = 0;
};

}  // namespace oddrank::report
