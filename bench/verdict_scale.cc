// Measures what a verdict costs by the number of ranks:
//   verdict_scale RANKS [THREADS]         threads a rank, default 4
//   verdict_scale RANKS THREADS FOLDER    writes the nodes' captures there, for `oddrank report`
//
// Every node's capture of a made-up job (scale_job.h) is made, encoded (its size is printed),
// decoded and merged, as `oddrank report FOLDER` does with files; then the view, the verdict, the
// text and the JSON are made. Each part is timed; memory is the peak of the process.
#include <sys/resource.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include "aggregate/diagnose.h"
#include "base/parse_number.h"
#include "bench/scale_job.h"
#include "report/report_json.h"
#include "report/report_text.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/merge.h"

namespace oddrank::bench {
namespace {

using snapshot::Capture;

// Adds up the seconds of CPU time that a piece of work takes: other work on the machine does not
// count.
class Timer {
 public:
  template <typename Work>
  auto time(const Work& work);
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
};

template <typename Work>
auto Timer::time(const Work& work) {
  const std::clock_t began = std::clock();
  auto result = work();
  seconds_ += static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  return result;
}

bool write_captures(std::int32_t ranks, int threads, const std::string& folder) {
  ScaleJob job(ranks, threads);
  for (std::int32_t node = 0; node < job.nodes(); ++node) {
    std::ofstream file(folder + "/" + std::to_string(node) + ".odd", std::ios::binary);
    if (!(file << snapshot::encode_capture(job.node(node)))) {
      std::fprintf(stderr, "cannot write into %s\n", folder.c_str());
      return false;
    }
  }
  return true;
}

double peak_mib() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int run(std::int32_t ranks, int threads) {
  ScaleJob job(ranks, threads);
  Timer decoding;
  Timer merging;
  Timer viewing;
  Timer judging;
  Timer writing;
  std::size_t largest = 0;
  Capture whole;
  snapshot::Merger merger(whole);
  for (std::int32_t node = 0; node < job.nodes(); ++node) {
    const std::string bytes = snapshot::encode_capture(job.node(node));
    largest = std::max(largest, bytes.size());
    auto part = decoding.time([&] { return snapshot::decode_capture(bytes); });
    if (!part) {
      std::fprintf(stderr, "%s\n", part.error().what.c_str());
      return 1;
    }
    merging.time([&] {
      merger.add(std::move(*part));
      return 0;
    });
  }
  const double merged = peak_mib();
  aggregate::FrameModel model(whole.tables);
  const auto view = viewing.time([&] { return aggregate::JobView(whole, model); });
  const auto report = judging.time([&] { return aggregate::diagnose(view); });
  const auto bytes = writing.time([&] {
    return std::pair(report::report_text(report, view, {}).size(),
                     report::report_json(report, view).size());
  });
  std::printf("%s\n", report::report_sentence(report).c_str());
  std::printf("ranks %d, threads a rank %d, largest capture of a node %.1f KiB\n", ranks, threads,
              static_cast<double>(largest) / 1024);
  std::printf("decode %.2f s, merge %.2f s (%.0f MiB by then)\n", decoding.seconds(),
              merging.seconds(), merged);
  const double verdict = viewing.seconds() + judging.seconds() + writing.seconds();
  std::printf(
      "view %.2f s, verdict %.2f s, text and JSON %.2f s (%.1f MB): %.2f s, %.1f us a rank\n",
      viewing.seconds(), judging.seconds(), writing.seconds(),
      static_cast<double>(bytes.first + bytes.second) / 1e6, verdict, verdict * 1e6 / ranks);
  std::printf("peak %.0f MiB\n", peak_mib());
  return 0;
}

}  // namespace
}  // namespace oddrank::bench

int main(int count, char** arguments) {
  const auto ranks = count > 1 ? oddrank::parse_number<std::int32_t>(arguments[1]) : std::nullopt;
  const auto threads = count > 2 ? oddrank::parse_number<int>(arguments[2]) : 4;
  constexpr std::int32_t kUnit = oddrank::bench::kReplicaRanks;
  if (!ranks || !threads || *ranks < kUnit || *ranks % kUnit != 0 || *threads < 1) {
    std::fprintf(stderr,
                 "usage: verdict_scale RANKS [THREADS [FOLDER]]   (RANKS: a multiple of %d)\n",
                 kUnit);
    return 2;
  }
  if (count > 3) {
    return oddrank::bench::write_captures(*ranks, *threads, arguments[3]) ? 0 : 1;
  }
  return oddrank::bench::run(*ranks, *threads);
}
