// Whether a rank moves, from one look after the other (watch/rank_sign.h).
//
// Not by CPU time: a rank that spins in a collective uses all of it, and one that reads a file
// none. A rank has moved when its leader is at a place (functions, lines, whole numbers among the
// locals) where none of the last looks had found it, when its log has changed, or when it moves
// data to or from storage, or when NCCL's counts of launches have changed since an earlier look in
// the same quiet time. A loop that polls comes back to the same few places, which soon are all
// known; fractions are left out of the locals, since such loops keep the time in them. Limit: a
// loop that counts its own tries in a whole number looks like one that trains.
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

  // True if the rank has moved since the look before.
  bool add(const RankSign& sign, Time now);
  std::chrono::milliseconds quiet_for(Time now) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - last_moved_);
  }
  // The longest time without motion after which it moved again by itself.
  std::chrono::milliseconds longest_quiet() const { return longest_quiet_; }

 private:
  bool is_new(std::uint64_t place);
  bool launched_more(const RankSign& sign);

  Time last_sample_;
  Time last_moved_;
  std::chrono::milliseconds longest_quiet_{0};
  std::deque<std::uint64_t> places_;       // known ones, the latest seen first
  std::optional<std::uint64_t> launches_;  // of a look in this quiet time
  std::uint64_t log_bytes_ = 0;
  std::uint64_t stored_bytes_ = 0;
  bool log_known_ = false;
  bool stored_known_ = false;
};

}  // namespace oddrank::watch
