// Sorts captures of one job by their times: files of one time (one for each node) belong together,
// a second capture of the same processes does not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// Returns when the first of its processes was read, in microseconds of CLOCK_REALTIME; nullopt if
// none was.
std::optional<std::uint64_t> began_us(const CaptureRows& capture);

// Takes the captures one by one, in any order. All of them share texts, frames and stacks, so that
// thousands of captures take little more memory than one.
class EpochJoiner {
 public:
  // A capture, with its processes apart.
  struct Part {
    CaptureRows rows;
    std::span<ProcessCapture> processes;
  };

  void add(Capture part);
  bool empty() const { return parts_.empty(); }

  // Returns the times, oldest first, each merged (merge.h). A capture begins a new time if it has a
  // process (same host, pid and start) or a rank (same host and number) that the current time
  // already has, read more than a second apart. Leaves nothing behind.
  std::vector<Capture> take();

 private:
  Tables tables_;
  std::vector<Part> parts_;  // with ids of `tables_`
  // The processes of many parts one behind the other, so that the memory of a decoder's own list is
  // free for the next capture. None of these vectors grows.
  std::vector<std::vector<ProcessCapture>> processes_;
};

}  // namespace oddrank::snapshot
