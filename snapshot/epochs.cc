#include "snapshot/epochs.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "snapshot/carrier.h"
#include "snapshot/intern_table.h"
#include "snapshot/merge.h"
#include "snapshot/replicas/number_replicas.h"

namespace oddrank::snapshot {
namespace {

using Part = EpochJoiner::Part;

constexpr std::size_t kProcessesTogether = 16384;
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

// The processes and ranks of the current time. Hosts with only one part are left out: nothing can
// repeat their processes, and in a large job nearly all hosts are like that.
class Seen {
 public:
  // Borrows the names of hosts.
  explicit Seen(const std::vector<Part*>& parts);
  // Returns whether `part` has a process or rank that is already here, but read later.
  bool is_repeated_by(const Part& part);
  void add(const Part& part) {
    for_keys(part, [&](const Key& key, std::uint64_t us) { read_us_.emplace(key, us); });
  }
  void clear() { read_us_.clear(); }

 private:
  template <typename Take>
  void for_keys(const Part& part, const Take& take);

  static constexpr std::uint32_t kOfOnePart = 0xffffffff;

  std::unordered_map<std::string_view, std::uint32_t> hosts_;  // numbers, or kOfOnePart
  std::unordered_map<Key, std::uint64_t, KeyHash> read_us_;
};

Seen::Seen(const std::vector<Part*>& parts) {
  std::uint32_t next = 0;
  for (const Part* part : parts) {
    for (const NodeCapture& node : part->rows.nodes) {
      const auto [at, is_new] = hosts_.emplace(node.host, kOfOnePart);
      if (!is_new && at->second == kOfOnePart) {
        at->second = next++;
      }
    }
  }
}

bool Seen::is_repeated_by(const Part& part) {
  bool repeats = false;
  for_keys(part, [&](const Key& key, std::uint64_t read_us) {
    const auto at = read_us_.find(key);
    repeats = repeats || (at != read_us_.end() && read_us > at->second + kOneLookUs);
  });
  return repeats;
}

template <typename Take>
void Seen::for_keys(const Part& part, const Take& take) {
  std::vector<std::uint32_t> hosts;
  hosts.reserve(part.rows.nodes.size());
  for (const NodeCapture& node : part.rows.nodes) {
    hosts.push_back(hosts_.find(node.host)->second);
  }
  for (const ProcessCapture& process : part.processes) {
    if (process.read_us == 0 || process.node >= hosts.size() || hosts[process.node] == kOfOnePart) {
      continue;
    }
    take(Key{hosts[process.node], false, process.pid, process.start_us}, process.read_us);
    if (process.is_rank && process.rank >= 0) {
      take(Key{hosts[process.node], true, process.rank, 0}, process.read_us);
    }
  }
}

// Returns where each time begins among parts in that order, and the end.
std::vector<std::size_t> limits_of(const std::vector<Part*>& parts) {
  std::vector<std::size_t> limits;
  Seen seen(parts);
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

std::optional<std::uint64_t> first_read_us(std::span<const ProcessCapture> processes) {
  std::optional<std::uint64_t> least;
  for (const ProcessCapture& process : processes) {
    if (process.read_us != 0) {
      least = std::min(least.value_or(process.read_us), process.read_us);
    }
  }
  return least;
}

std::vector<Part*> oldest_first(std::vector<Part>& parts) {
  std::vector<std::pair<std::uint64_t, Part*>> dated;
  dated.reserve(parts.size());
  for (Part& part : parts) {
    dated.emplace_back(
        first_read_us(part.processes).value_or(std::numeric_limits<std::uint64_t>::max()), &part);
  }
  std::stable_sort(dated.begin(), dated.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Part*> sorted;
  sorted.reserve(dated.size());
  for (const auto& entry : dated) {
    sorted.push_back(entry.second);
  }
  return sorted;
}

// Returns the part's rows and processes as one again.
CaptureRows joined(Part& part) {
  CaptureRows rows = std::move(part.rows);
  rows.processes.reserve(part.processes.size());
  std::ranges::move(part.processes, std::back_inserter(rows.processes));
  return rows;
}

}  // namespace

std::optional<std::uint64_t> began_us(const CaptureRows& capture) {
  return first_read_us(capture.processes);
}

void EpochJoiner::add(Capture part) {
  Carrier carrier(part.tables, tables_);
  CaptureRows rows = carrier.row(static_cast<CaptureRows&&>(part));
  std::vector<ProcessCapture> processes = std::exchange(rows.processes, {});
  if (processes_.empty() ||
      processes_.back().capacity() - processes_.back().size() < processes.size()) {
    processes_.emplace_back().reserve(std::max(kProcessesTogether, processes.size()));
  }
  auto& together = processes_.back();
  const std::size_t before = together.size();
  std::ranges::move(processes, std::back_inserter(together));
  parts_.push_back({std::move(rows), std::span(together).subspan(before)});
}

std::vector<Capture> EpochJoiner::take() {
  const std::vector<Part*> parts = oldest_first(parts_);
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
    std::size_t processes = 0;
    for (std::size_t i = limits[time]; i < limits[time + 1]; ++i) {
      processes += parts[i]->processes.size();
    }
    whole.processes.reserve(processes);
    Merger merger(whole);
    for (std::size_t i = limits[time]; i < limits[time + 1]; ++i) {
      CaptureRows rows = joined(*parts[i]);
      merger.add_rows(carrier ? carrier->row(std::move(rows)) : std::move(rows));
    }
    number_replicas(whole);
  }
  *this = {};
  return times;
}

}  // namespace oddrank::snapshot
