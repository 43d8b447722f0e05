// What one short look at a rank tells of whether it moves: plain data, made by whoever may read
// processes, judged by watch/rank_motion.h. Travels through the pipe of an isolated reader.
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
  bool gone = false;       // it has ended, or is a zombie
  std::string trouble;     // why its frames could not be read; "" where they could, or need not
  char state = '?';        // of the main thread
  std::uint64_t switches =
      0;  // of context, of the main thread: unchanged means that it did not run
  // Its frames were looked at; the fields below are of that look, which may be an earlier one.
  bool looked = false;
  // One number for each thread that counts: functions, lines and whole numbers among the locals.
  std::vector<std::uint64_t> places;
  std::string where;                 // for people: "read_shard (train.py:75) < main (train.py:138)"
  std::string backends;              // of its process groups: "cpu:gloo,cuda:nccl"; "" = unknown
  std::int64_t group_timeout_s = 0;  // what they were given; 0 = unknown
  std::uint64_t stored_bytes = 0;    // read from and written to storage by the process
  std::uint64_t log_bytes = 0;       // size of its output files
  bool log_by_watcher = false;       // and what came since the look before is a watcher's
  // Collectives that its process has launched, by NCCL's own counts; nullopt: not looked at, or
  // they cannot be read.
  std::optional<std::uint64_t> launches;
};

std::string encode_sign(const RankSign& sign);
// nullopt where the text is cut or is no sign.
std::optional<RankSign> decode_sign(std::string_view text);

}  // namespace oddrank::watch
