// The watcher's knowledge in Prometheus's text format, for a collector of text files (such as
// node_exporter's textfile collector). No port is opened.
//
// Source: the text format 0.0.4 of Prometheus's exposition formats.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace oddrank::watch {

struct RankMetric {
  std::int32_t rank = -1;
  std::chrono::milliseconds still{0};  // without motion, by the samples
};

struct WatchMetrics {
  std::vector<RankMetric> ranks;  // of this watcher
  std::chrono::system_clock::time_point sampled;
  bool alarm = false;          // a stall was reported, and nothing has moved since
  std::uint64_t alarms = 0;    // since the watch began
  std::uint64_t captures = 0;  // likewise
  std::string kind;            // of the newest verdict; "" = none yet
};

// Returns the file's contents. `name`: the job or the host, which becomes the label `job`.
std::string metrics_text(const WatchMetrics& metrics, const std::string& name);

// Returns FOLDER/oddrank-NAME.prom, or FOLDER/oddrank-NAME-rank3.prom for a watcher beside rank 3
// (-1: a watcher of all ranks of the node).
std::string metrics_path(const std::string& folder, const std::string& name, std::int32_t beside);

}  // namespace oddrank::watch
