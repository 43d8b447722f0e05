#include "snapshot/epochs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "snapshot/merge.h"

namespace oddrank::snapshot {
namespace {

constexpr std::uint64_t kOneLookUs = 1'000'000;

// Host, then pid and start, or rank number and 0.
using Key = std::tuple<std::string, std::int64_t, std::uint64_t, bool>;
using Seen = std::map<Key, std::uint64_t>;  // -> when it was read

std::vector<std::pair<Key, std::uint64_t>> keys_of(const Capture& capture) {
  std::vector<std::pair<Key, std::uint64_t>> keys;
  for (const ProcessCapture& process : capture.processes) {
    if (process.read_us == 0 || process.node >= capture.nodes.size()) {
      continue;
    }
    const std::string& host = capture.nodes[process.node].host;
    keys.push_back({{host, process.pid, process.start_us, false}, process.read_us});
    if (process.is_rank && process.rank >= 0) {
      keys.push_back({{host, process.rank, 0, true}, process.read_us});
    }
  }
  return keys;
}

bool repeats(const std::vector<std::pair<Key, std::uint64_t>>& keys, const Seen& seen) {
  return std::any_of(keys.begin(), keys.end(), [&seen](const auto& entry) {
    const auto at = seen.find(entry.first);
    return at != seen.end() && entry.second > at->second + kOneLookUs;
  });
}

}  // namespace

std::optional<std::uint64_t> began_us(const Capture& capture) {
  std::optional<std::uint64_t> least;
  for (const ProcessCapture& process : capture.processes) {
    if (process.read_us != 0) {
      least = std::min(least.value_or(process.read_us), process.read_us);
    }
  }
  return least;
}

std::vector<Capture> join_by_time(std::vector<Capture> captures) {
  const auto when = [](const Capture& capture) {
    return began_us(capture).value_or(std::numeric_limits<std::uint64_t>::max());
  };
  std::stable_sort(captures.begin(), captures.end(),
                   [&when](const Capture& a, const Capture& b) { return when(a) < when(b); });
  std::vector<std::vector<const Capture*>> times;
  Seen seen;
  for (const Capture& capture : captures) {
    const auto keys = keys_of(capture);
    if (times.empty() || repeats(keys, seen)) {
      times.emplace_back();
      seen.clear();
    }
    times.back().push_back(&capture);
    seen.insert(keys.begin(), keys.end());
  }
  std::vector<Capture> joined;
  for (const auto& parts : times) {
    joined.emplace_back();
    Merger merger(joined.back());
    for (const Capture* part : parts) {
      merger.add(*part);
    }
  }
  return joined;
}

}  // namespace oddrank::snapshot
