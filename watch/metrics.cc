#include "watch/metrics.h"

#include <string_view>

#include <fmt/format.h>

#include "base/printable.h"
#include "watch/rolling_files.h"

namespace oddrank::watch {
namespace {

std::string label_value(std::string_view text) {
  std::string value;
  for (const char byte : printable(text)) {
    value += byte == '"' || byte == '\\' ? std::string{'\\', byte} : std::string{byte};
  }
  return value;
}

double in_seconds(std::chrono::milliseconds span) {
  return static_cast<double>(span.count()) / 1000;
}

// One family of metrics. Each row has labels besides the job's, or none.
class Family {
 public:
  Family(std::string& text, std::string_view name, std::string_view type, std::string_view help)
      : text_(text), name_(name) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }
  void add(const std::string& job, const std::string& labels, double value) {
    text_ += fmt::format("{}{{job=\"{}\"{}}} {}\n", name_, job, labels, value);
  }

 private:
  std::string& text_;
  std::string_view name_;
};

}  // namespace

std::string metrics_text(const WatchMetrics& metrics, const std::string& name) {
  const std::string job = label_value(name);
  std::string text;
  Family(text, "oddrank_watch_ranks", "gauge", "Ranks that this watcher samples.")
      .add(job, "", static_cast<double>(metrics.ranks.size()));
  Family still(text, "oddrank_watch_rank_still_seconds", "gauge",
               "Time without motion of a rank, as the samples have seen it.");
  for (const RankMetric& rank : metrics.ranks) {
    still.add(job, fmt::format(",rank=\"{}\"", rank.rank), in_seconds(rank.still));
  }
  Family(text, "oddrank_watch_stalled", "gauge",
         "1 if a stall was reported and nothing has moved since.")
      .add(job, "", metrics.alarm ? 1 : 0);
  Family(text, "oddrank_watch_alarms_total", "counter", "Stalls that were reported.")
      .add(job, "", static_cast<double>(metrics.alarms));
  Family(text, "oddrank_watch_captures_total", "counter", "Captures that were taken.")
      .add(job, "", static_cast<double>(metrics.captures));
  if (!metrics.kind.empty()) {
    Family(text, "oddrank_watch_verdict", "gauge", "Always 1; the kind of the newest verdict.")
        .add(job, fmt::format(",kind=\"{}\"", label_value(metrics.kind)), 1);
  }
  Family(text, "oddrank_watch_sample_timestamp_seconds", "gauge",
         "When the newest sample was taken, since 1970.")
      .add(job, "",
           in_seconds(std::chrono::duration_cast<std::chrono::milliseconds>(
               metrics.sampled.time_since_epoch())));
  return text;
}

std::string metrics_path(const std::string& folder, const std::string& name, std::int32_t beside) {
  return folder + "/oddrank-" + file_word(name) +
         (beside < 0 ? "" : "-rank" + std::to_string(beside)) + ".prom";
}

}  // namespace oddrank::watch
