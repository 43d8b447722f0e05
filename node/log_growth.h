// The logs that a rank's output goes to: how long they are, and who wrote last. Several ranks and
// their watchers may share a log, and a watcher's words are not a sign of life of a rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oddrank::node {

struct LogSample {
  std::uint64_t bytes = 0;  // of all of them
  // What was written since the last sample has words of a watcher (in its first MiB).
  bool by_watcher = false;
};

// Adds the lengths of all regular files; a file that is named twice counts once. `bytes_before`:
// the length at the last sample. Opens the files if they have grown, which may block: call it in a
// child.
LogSample sample_logs(const std::vector<std::string>& paths, std::uint64_t bytes_before);

}  // namespace oddrank::node
