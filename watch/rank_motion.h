// Decides from a series of samples (watch/rank_sign.h) whether a rank moves.
//
// CPU time is not motion: a rank that spins in a collective uses a whole core, and one that reads a
// file uses none. A rank has moved if its deciding thread is at a new place (functions, lines,
// whole numbers among the locals) compared with the last samples, if its log has changed repeatedly
// (all ranks and others may write to the same file), if it moves data to or from storage, or if
// NCCL's or PyTorch's process groups' counts of calls have changed since an earlier sample in the
// same quiet time. A polling loop returns to the same few places, which are soon all known.
// Fractions among the locals do not count, since such loops keep the time in them; nor do variables
// that a polling loop sets (snapshot/loops/loop_polls.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "watch/rank_sign.h"

namespace oddrank::watch {

class RankMotion {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  explicit RankMotion(Time start) : last_sample_(start), last_moved_(start) {}

  // Adds a sample. Returns true if the rank has moved since the last one.
  bool add(const RankSign& sign, Time now);
  std::chrono::milliseconds quiet_for(Time now) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - last_moved_);
  }
  // Returns the longest time without motion after which the rank moved again by itself.
  std::chrono::milliseconds longest_quiet() const { return longest_quiet_; }

 private:
  bool is_new(std::uint64_t place);
  // A count from one source. has_changed() compares it with the last one in this quiet time.
  using Count = std::optional<std::uint64_t>;
  static bool has_changed(const Count& now, Count& before);
  bool keeps_logging(const RankSign& sign);

  Time last_sample_;
  Time last_moved_;
  std::chrono::milliseconds longest_quiet_{0};
  std::deque<std::uint64_t> places_;  // known places, latest first
  Count launches_;                    // in a sample of this quiet time
  Count calls_;                       // the same
  std::uint64_t log_bytes_ = 0;
  int log_changes_ = 0;  // in this quiet time
  std::uint64_t stored_bytes_ = 0;
  bool log_known_ = false;
  bool stored_known_ = false;
};

}  // namespace oddrank::watch
