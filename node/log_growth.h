// Reads the length of the logs of a rank's output, and whether a watcher wrote to them. Several
// ranks and their watchers may share a log, and a watcher's words are not a sign of life of a rank.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace oddrank::node {

struct LogSample {
  std::uint64_t bytes = 0;  // of all logs
  // The text written since the last sample contains a watcher's words (in its first MiB).
  bool by_watcher = false;
};

// A log that is found by its descriptor, or by the path that the user gave.
struct LogPlace {
  std::string path;
  pid_t pid = 0;  // the process with the descriptor; 0: the path counts
  int fd = -1;
};

// Adds the lengths of all regular files; a file listed twice counts once. `bytes_before`: the
// length at the last sample. Opens the files if they have grown, which may block: call it in a
// child.
LogSample sample_logs(const std::vector<LogPlace>& places, std::uint64_t bytes_before);

}  // namespace oddrank::node
