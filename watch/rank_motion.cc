#include "watch/rank_motion.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/parse_number.h"
#include "base/span_words.h"
#include "base/split.h"

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

namespace {

constexpr std::size_t kMaxPastPlaces = 12;
constexpr std::size_t kMaxWords = 360;
constexpr std::size_t kPlacesInWords = 3;
constexpr std::string_view kMark = "oddrank past 1";

std::string clock_text(LastPlaces::WallTime when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 16> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return {text.data(), length};
}

}  // namespace

void LastPlaces::add(const RankSign& sign, bool moved, WallTime now) {
  if (moved) {
    moved_at_ = now;
    ran_at_.reset();
  }
  if (!ran_at_ && sign.unrun_ms >= 0) {
    ran_at_ = now - std::chrono::milliseconds(sign.unrun_ms);
  }
  if (!sign.frames_read || sign.where.empty()) {
    return;
  }
  if (!places_.empty() && places_.front().where == sign.where) {
    places_.front().last_seen = now;
    return;
  }
  places_.push_front({sign.where, now});
  if (places_.size() > kMaxPastPlaces) {
    places_.pop_back();
  }
}

std::optional<LastPlaces::WallTime> LastPlaces::last_motion() const {
  return ran_at_ && *ran_at_ <= moved_at_.value_or(start_) ? ran_at_ : moved_at_;
}

std::chrono::milliseconds LastPlaces::still_for(WallTime now) const {
  const auto motion = last_motion();
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      motion && *motion < now ? now - *motion : WallTime::duration(0));
}

std::string LastPlaces::motion_words(WallTime now) const {
  const auto motion = last_motion();
  const WallTime when = motion.value_or(start_);
  return std::string(motion ? "last moved at " : "has not moved since the watch began at ") +
         clock_text(when) + " (" + span_words(now - when) + " before this capture)";
}

std::string LastPlaces::words(WallTime now) const {
  std::string text = motion_words(now);
  for (std::size_t i = 0; i < places_.size() && i < kPlacesInWords; ++i) {
    const std::string when = i == 0 ? "" : " " + clock_text(places_[i].last_seen);
    const std::string_view before = i == 0 ? ", last seen in " : i == 1 ? "; before: " : ", ";
    const std::string piece = std::string(before) + places_[i].where + when;
    if (text.size() + piece.size() > kMaxWords) {
      break;
    }
    text += piece;
  }
  return text;
}

std::string past_path(const std::string& folder, const std::string& name, std::int32_t rank) {
  return folder + "/.past-" + name + "-rank" + std::to_string(rank);
}

std::string encode_past(const PastFile& past) {
  return std::string(kMark) + "\n" + std::to_string(past.rank) + "\n" + std::to_string(past.pid) +
         "\n" + past.words + "\n";
}

std::optional<PastFile> decode_past(std::string_view text) {
  const auto lines = split(text, '\n');
  if (lines.size() < 4 || lines[0] != kMark) {
    return std::nullopt;
  }
  const auto rank = parse_number<std::int32_t>(lines[1]);
  const auto pid = parse_number<pid_t>(lines[2]);
  if (!rank || !pid) {
    return std::nullopt;
  }
  return PastFile{*rank, *pid, std::string(lines[3].substr(0, kMaxWords))};
}

}  // namespace oddrank::watch
