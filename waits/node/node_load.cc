#include "waits/node/node_load.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace oddrank::waits {
namespace {

constexpr double kFarAbove = 2;
constexpr double kMaxLoad = 1e6;

// "37.20 20.11 9.03 12/1204 3121"; 0 if it is something else.
double load_of(std::string_view text) {
  double load = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), load);
  return end.ec == std::errc() && load >= 0 && load <= kMaxLoad ? load : 0;
}

bool wants_to_run(const snapshot::ProcessCapture& process) {
  return std::ranges::any_of(process.threads, [](const snapshot::ThreadCapture& thread) {
    return std::ranges::any_of(thread.samples, [](const auto& each) { return each.state == 'R'; });
  });
}

}  // namespace

std::string load_note(std::string_view loadavg,
                      std::size_t cpus,
                      const snapshot::Capture& capture) {
  const double load = load_of(loadavg);
  if (cpus == 0 || load < kFarAbove * static_cast<double>(cpus)) {
    return {};
  }
  std::set<std::int32_t> ranks;
  for (const snapshot::ProcessCapture& process : capture.processes) {
    if (process.is_rank && wants_to_run(process)) {
      ranks.insert(process.rank);
    }
  }
  if (ranks.empty()) {
    return {};
  }
  const std::string who =
      ranks.size() > 1     ? "threads of " + std::to_string(ranks.size()) + " ranks want"
      : *ranks.begin() < 0 ? std::string("a process that was read wants")
                           : "rank " + std::to_string(*ranks.begin()) + " wants";
  const auto tenths = static_cast<std::uint64_t>(load * 10);
  std::string note = "the load is " + std::to_string(tenths / 10) + "." +
                     std::to_string(tenths % 10) + " on " + std::to_string(cpus) + " CPU";
  note += cpus == 1 ? "" : "s";
  return note + ", and " + who + " to run";
}

}  // namespace oddrank::waits
