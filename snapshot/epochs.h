// Captures of one job, sorted into the times at which it was looked at: parts of one look (a file a
// node) belong together, a second look at the same processes does not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// When the first of its processes was read, in microseconds of CLOCK_REALTIME; nullopt: none was.
std::optional<std::uint64_t> began_us(const CaptureRows& capture);

// Takes the captures one by one, in any order, which decides nothing. Their texts, frames and
// stacks are kept once for all of them, so that thousands of captures take little more than one.
class EpochJoiner {
 public:
  void add(Capture part);
  bool empty() const { return parts_.empty(); }

  // Oldest first; each merged (merge.h). A capture begins a new time if it has a process (same
  // host, pid and start) or a rank (same host and number) that the present time has already, read
  // more than a second apart. Nothing is left here.
  std::vector<Capture> take();

 private:
  Tables tables_;
  std::vector<CaptureRows> parts_;  // with ids of `tables_`
};

}  // namespace oddrank::snapshot
