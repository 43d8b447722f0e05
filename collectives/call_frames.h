// The frames of one thread with the locals that belong to them: a view into a capture.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::collectives {

class CallFrames {
 public:
  // Takes the frames of the last sample. If native and Python frames could not be merged, there are
  // two lists: `python` chooses the second one. A forked worker's list has only its own frames, not
  // its parent's outer ones. Borrows the thread and the tables.
  CallFrames(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables, bool python);

  std::size_t size() const { return frames_.size(); }
  const snapshot::Frame& frame(std::size_t index) const { return *frames_[index]; }
  std::string_view function(std::size_t index) const;
  std::string_view file(std::size_t index) const;
  bool is_python(std::size_t index) const;
  // Returns the value of a local variable as text; nullopt if it is not bound or was not read.
  std::optional<std::string_view> local(std::size_t index, std::string_view name) const;
  // Returns the values of all locals of a frame.
  std::vector<std::string_view> locals(std::size_t index) const;
  // Returns "all_reduce (distributed_c10d.py:3234)", "c10d::Reducer::finalize_backward".
  std::string describe(std::size_t index) const;

 private:
  const snapshot::ThreadCapture& thread_;
  const snapshot::Tables& tables_;
  bool has_locals_;  // locals belong to the list that holds the Python frames
  std::vector<const snapshot::Frame*> frames_;
};

}  // namespace oddrank::collectives
