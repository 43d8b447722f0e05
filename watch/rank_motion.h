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
//
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
