// One short sample of a rank's motion. Plain data: an isolated reader makes it and sends it through
// its pipe, watch/rank_motion.h judges it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::watch {

struct RankSign {
  pid_t pid = 0;
  std::int32_t rank = -1;  // -1: unknown
  bool gone = false;       // it has exited, or is a zombie
  std::string trouble;     // why its frames could not be read; "" if they were read or not wanted
  char state = '?';        // of the main thread
  std::uint64_t switches =
      0;  // context switches of the main thread: unchanged means that it did not run
  // How long the main thread has not run, by the kernel's clocks (attach/clocks/run_clock.h);
  // -1 = unknown, or it runs.
  std::int64_t unrun_ms = -1;
  // Its frames were read in this sample. Otherwise the fields below are from an earlier sample.
  bool frames_read = false;
  // One number for each relevant thread: a hash of functions, lines and whole numbers among the
  // locals.
  std::vector<std::uint64_t> places;
  std::string where;                 // for people: "read_shard (train.py:75) < main (train.py:138)"
  std::string backends;              // of its process groups: "cpu:gloo,cuda:nccl"; "" = unknown
  std::int64_t group_timeout_s = 0;  // as configured; 0 = unknown
  std::uint64_t stored_bytes = 0;    // read from and written to storage by the process
  std::uint64_t log_bytes = 0;       // size of its output files
  bool log_by_watcher = false;       // all growth since the previous sample is a watcher's
  // Collectives that its process has launched, by NCCL's own counts; nullopt: not read, or not
  // readable.
  std::optional<std::uint64_t> launches;
  // Calls of its process groups, by PyTorch's own counts; nullopt as above.
  std::optional<std::uint64_t> calls;
};

// Returns the bytes that decode_sign() reads.
std::string encode_sign(const RankSign& sign);
// Reads them; nullopt if they are cut off or not a sign.
std::optional<RankSign> decode_sign(std::string_view text);

}  // namespace oddrank::watch
