#include "snapshot/epochs.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "snapshot/carrier.h"
#include "snapshot/intern_table.h"
#include "snapshot/merge.h"

namespace oddrank::snapshot {
namespace {

constexpr std::uint64_t kOneLookUs = 1'000'000;

// A process by pid and start, or a rank by number and 0; both with their host.
struct Key {
  std::uint32_t host = 0;
  bool is_rank = false;
  std::int64_t number = 0;
  std::uint64_t start_us = 0;

  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const;
};

std::size_t KeyHash::operator()(const Key& key) const {
  const auto number = static_cast<std::uint64_t>(key.number);
  return hash_mix(hash_mix(hash_mix(key.host, number), key.start_us), key.is_rank ? 1 : 0);
}

// The processes and ranks of the current time.
class Seen {
 public:
  // Returns whether `part` has a process or rank that is already here, read later.
  bool is_repeated_by(const CaptureRows& part);
  void add(const CaptureRows& part) {
    for_keys(part, [&](const Key& key, std::uint64_t us) { read_us_.emplace(key, us); });
  }
  void clear() { read_us_.clear(); }

 private:
  template <typename Take>
  void for_keys(const CaptureRows& part, const Take& take);

  std::unordered_map<std::string, std::uint32_t> hosts_;
  std::unordered_map<Key, std::uint64_t, KeyHash> read_us_;
};

bool Seen::is_repeated_by(const CaptureRows& part) {
  bool repeats = false;
  for_keys(part, [&](const Key& key, std::uint64_t read_us) {
    const auto at = read_us_.find(key);
    repeats = repeats || (at != read_us_.end() && read_us > at->second + kOneLookUs);
  });
  return repeats;
}

template <typename Take>
void Seen::for_keys(const CaptureRows& part, const Take& take) {
  std::vector<std::uint32_t> hosts;
  hosts.reserve(part.nodes.size());
  for (const NodeCapture& node : part.nodes) {
    const auto next = static_cast<std::uint32_t>(hosts_.size());
    hosts.push_back(hosts_.emplace(node.host, next).first->second);
  }
  for (const ProcessCapture& process : part.processes) {
    if (process.read_us == 0 || process.node >= hosts.size()) {
      continue;
    }
    take(Key{hosts[process.node], false, process.pid, process.start_us}, process.read_us);
    if (process.is_rank && process.rank >= 0) {
      take(Key{hosts[process.node], true, process.rank, 0}, process.read_us);
    }
  }
}

// Returns where each time begins among parts in that order, and the end.
std::vector<std::size_t> limits_of(const std::vector<CaptureRows*>& parts) {
  std::vector<std::size_t> limits;
  Seen seen;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == 0 || seen.is_repeated_by(*parts[i])) {
      limits.push_back(i);
      seen.clear();
    }
    seen.add(*parts[i]);
  }
  limits.push_back(parts.size());
  return limits;
}

std::vector<CaptureRows*> oldest_first(std::vector<CaptureRows>& parts) {
  std::vector<std::pair<std::uint64_t, CaptureRows*>> dated;
  dated.reserve(parts.size());
  for (CaptureRows& part : parts) {
    dated.emplace_back(began_us(part).value_or(std::numeric_limits<std::uint64_t>::max()), &part);
  }
  std::stable_sort(dated.begin(), dated.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<CaptureRows*> sorted;
  sorted.reserve(dated.size());
  for (const auto& entry : dated) {
    sorted.push_back(entry.second);
  }
  return sorted;
}

}  // namespace

std::optional<std::uint64_t> began_us(const CaptureRows& capture) {
  std::optional<std::uint64_t> least;
  for (const ProcessCapture& process : capture.processes) {
    if (process.read_us != 0) {
      least = std::min(least.value_or(process.read_us), process.read_us);
    }
  }
  return least;
}

void EpochJoiner::add(Capture part) {
  Carrier carrier(part.tables, tables_);
  parts_.push_back(carrier.rows(static_cast<CaptureRows&&>(part)));
}

std::vector<Capture> EpochJoiner::take() {
  const std::vector<CaptureRows*> parts = oldest_first(parts_);
  const std::vector<std::size_t> limits = limits_of(parts);
  std::vector<Capture> times(parts.empty() ? 0 : limits.size() - 1);
  for (std::size_t time = 0; time < times.size(); ++time) {
    Capture& whole = times[time];
    std::optional<Carrier> carrier;
    if (times.size() == 1) {
      whole.tables = std::move(tables_);  // which the rows already refer to
    } else {
      carrier.emplace(tables_, whole.tables);
    }
    Merger merger(whole);
    for (std::size_t i = limits[time]; i < limits[time + 1]; ++i) {
      merger.add_rows(carrier ? carrier->rows(std::move(*parts[i])) : std::move(*parts[i]));
    }
  }
  *this = {};
  return times;
}

}  // namespace oddrank::snapshot
