#include "watch/last_places.h"

#include <array>
#include <ctime>

#include "base/parse_number.h"
#include "base/span_words.h"
#include "base/split.h"

namespace oddrank::watch {
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
