// The places of a rank's deciding thread in the latest samples, a few KB. If a rank can no longer
// be read at a stall (state D, a dead node), this is all that is known about it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "watch/rank_sign.h"

namespace oddrank::watch {

class LastPlaces {
 public:
  using WallTime = std::chrono::system_clock::time_point;

  // `start`: when the watch of this rank began.
  explicit LastPlaces(WallTime start) : start_(start) {}

  // `moved`: since the sample before; false for the first one.
  void add(const RankSign& sign, bool moved, WallTime now);

  // Returns how long it has not moved, since the time in words(); 0 if that is the start of the
  // watch.
  std::chrono::milliseconds still_for(WallTime now) const;

  // Returns "last moved at 14:03:12 (5 min before this capture), last seen in poll (io.py:7);
  // before: step (train.py:20) 14:02:42". The time is the last sample's that saw it move, or the
  // kernel's last run of its main thread if that was earlier. If neither is known, "has not moved
  // since the watch began at 14:03:12 (...)". Local time; at most 360 bytes.
  std::string words(WallTime now) const;

 private:
  struct Place {
    std::string where;
    WallTime last_seen;
  };
  std::optional<WallTime> last_motion() const;
  std::string motion_words(WallTime now) const;

  std::deque<Place> places_;  // latest first
  WallTime start_;
  std::optional<WallTime> moved_at_;  // by a sample
  // When its main thread last ran, by the first sample after its last motion: later values may come
  // from a tool that stopped the thread, which makes it run.
  std::optional<WallTime> ran_at_;
};

// The past of a rank whose watcher does not report: a small file in the folder shared by all
// watchers of a job.
struct PastFile {
  std::int32_t rank = -1;
  pid_t pid = 0;
  std::string words;
};

// Returns "FOLDER/.past-NAME-rank5".
std::string past_path(const std::string& folder, const std::string& name, std::int32_t rank);
// Convert to and from the contents of such a file. decode_past: nullopt if the text is cut off or
// not a past.
std::string encode_past(const PastFile& past);
std::optional<PastFile> decode_past(std::string_view text);

}  // namespace oddrank::watch
