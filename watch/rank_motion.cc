#include "watch/rank_motion.h"

#include <algorithm>
#include <utility>

namespace oddrank::watch {
namespace {

// A polling loop has a dozen places. A program that visits only these has stopped.
constexpr std::size_t kMaxKnownPlaces = 256;
// More than a rank writes besides its work (metrics, logs), less than any checkpoint.
constexpr double kStoredBytesPerSecond = 256.0 * 1024;
constexpr int kLogChangesThatCount = 3;

}  // namespace

bool RankMotion::is_new(std::uint64_t place) {
  const auto known = std::find(places_.begin(), places_.end(), place);
  const bool is_new = known == places_.end();
  if (!is_new) {
    places_.erase(known);
  } else if (places_.size() >= kMaxKnownPlaces) {
    places_.pop_back();
  }
  places_.push_front(place);
  return is_new;
}

// Counts are read only in quiet times; counts from an earlier quiet time cannot be compared with
// those of this one.
bool RankMotion::has_changed(const Count& now, Count& before) {
  if (!now) {
    return false;
  }
  const Count earlier = std::exchange(before, now);
  return earlier && earlier != now;
}

// One line is no motion of a rank at the same place: another process may have written it.
bool RankMotion::keeps_logging(const RankSign& sign) {
  // A log that shrank was restarted.
  if (log_known_ && sign.log_bytes != log_bytes_ && !sign.log_by_watcher) {
    ++log_changes_;
  }
  log_known_ = true;
  log_bytes_ = sign.log_bytes;
  return log_changes_ >= kLogChangesThatCount;
}

bool RankMotion::add(const RankSign& sign, Time now) {
  bool moved = false;
  if (sign.frames_read) {
    for (const std::uint64_t place : sign.places) {
      moved = is_new(place) || moved;
    }
  }
  moved = keeps_logging(sign) || moved;
  const double seconds = std::chrono::duration<double>(now - last_sample_).count();
  const auto stored =
      static_cast<double>(sign.stored_bytes - std::min(sign.stored_bytes, stored_bytes_));
  moved = moved || (stored_known_ && stored > 0 && stored >= seconds * kStoredBytesPerSecond);
  if (moved) {
    launches_.reset();
    calls_.reset();
  }
  const bool launched = has_changed(sign.launches, launches_);
  moved = has_changed(sign.calls, calls_) || launched || moved;
  stored_known_ = true;
  stored_bytes_ = sign.stored_bytes;
  last_sample_ = now;
  if (moved) {
    longest_quiet_ = std::max(longest_quiet_, quiet_for(now));
    last_moved_ = now;
    log_changes_ = 0;
  }
  return moved;
}

}  // namespace oddrank::watch
