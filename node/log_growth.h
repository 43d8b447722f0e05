// The logs that a rank's output goes to: how long they are, and whose words came last. Several
// ranks and their watchers may share one, and what a watcher says there is no sign of life of a
// rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oddrank::node {

struct LogSample {
  std::uint64_t bytes = 0;  // of all of them
  // Among what came since the look before are words of a watcher (the first MiB of it is looked
  // at).
  bool by_watcher = false;
};

// What is no regular file, or not there, counts nothing; a file that is named twice counts once.
// Opens them where they have grown: call it in a child.
LogSample sample_logs(const std::vector<std::string>& paths, std::uint64_t bytes_before);

}  // namespace oddrank::node
