// Limits the threads and tasks in the JSON report, so that programs can read the report of any job.
// Private to report/.
#pragma once

#include <cstddef>

#include "aggregate/view/job_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::report {

// At most this many frames of a thread are listed: the innermost.
inline constexpr std::size_t kMaxListedFrames = 4096;

// Returns how many objects the list of a process's threads and tasks has.
std::size_t listed_objects(const aggregate::JobView& view, const snapshot::ProcessCapture& process);

// The limit that a process's threads and tasks share.
class ListingRoom {
 public:
  explicit ListingRoom(const aggregate::JobView& view) : view_(view) {}

  // Takes room for a thread with its variables, and returns how many of its frames fit, the
  // innermost first. A long stack is cut, not left out; 0: the thread does not fit.
  std::size_t take(const snapshot::ThreadCapture& thread);
  // Takes room for a task; false if the task does not fit.
  bool take(const snapshot::AsyncTask& task);
  std::size_t taken() const { return taken_; }

 private:
  const aggregate::JobView& view_;
  std::size_t taken_ = 0;
};

}  // namespace oddrank::report
