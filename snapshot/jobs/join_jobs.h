// Joins several jobs into one: trainers and the inference engines that get their weights, replicas
// that share a group. Each of these jobs has a rank 0, and a group that was made by hand has its
// own numbers; a diagnosis needs one number for each process.
#pragma once

#include <optional>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// Gives each rank a unique number if two processes have the same one: they belong to different
// jobs, or to a group that met apart from the job (ProcessGroup::met_at). The job with the most
// ranks keeps its numbers; the ranks of other jobs get the following ones
// (ProcessCapture::first_rank), and a note says so. Groups of all ranks of a job become groups with
// members. A group that was made by hand gets the processes that met there as its members, or none
// if one of them is not in the capture. Lines of logs and dumps that name ranks, but not the job,
// are dropped.
class OneNumbering {
 public:
  // Keeps a reference to the capture.
  explicit OneNumbering(const Capture& capture);

  // Returns the same capture if its numbers were unique.
  const Capture& capture() const { return joined_ ? *joined_ : capture_; }

 private:
  const Capture& capture_;
  std::optional<Capture> joined_;
};

}  // namespace oddrank::snapshot
