#include "aggregate/flight/flight_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "aggregate/flight/past_calls.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxStepHistory = 512;  // newest calls of a rank
constexpr std::size_t kMaxSteppedRanks = 16384;
std::int64_t number_of(const FlightEntry& entry) {
  return entry.is_p2p ? entry.transfer : entry.sequence;
}

// Counts a group's collectives, or transfers, in a step and so far.
std::optional<RankStep> count_calls(const std::vector<PastCall>& calls,
                                    const Repeat& repeat,
                                    std::size_t group,
                                    bool transfers) {
  const auto is_counted = [&](std::size_t i) {
    return calls[i].key.group == group && calls[i].entry->is_p2p == transfers;
  };
  RankStep step;
  for (std::size_t i = repeat.end; i > repeat.end - repeat.period && step.calls == 0; --i) {
    if (is_counted(i - 1)) {
      step.calls = number_of(*calls[i - 1].entry) - number_of(*calls[i - 1 - repeat.period].entry);
    }
  }
  std::int64_t newest = -1;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    newest = is_counted(i) ? std::max(newest, number_of(*calls[i].entry)) : newest;
  }
  if (step.calls <= 0 || newest <= 0) {
    return std::nullopt;
  }
  step.transfers = transfers;
  step.newest = newest;
  step.step = (newest - 1) / step.calls + 1;
  return step;
}

// What compared ranks must have in common. Each stage of a pipeline has its own number of transfers
// in a step.
using Comparable = std::tuple<std::size_t, bool, std::int64_t>;

}  // namespace

std::vector<RankStep> rank_steps(const FlightJob& job) {
  std::vector<RankStep> steps;
  std::map<Comparable, std::vector<std::size_t>> alike;
  for (std::size_t at = 0; at < job.records.size() && job.records.size() <= kMaxSteppedRanks;
       ++at) {
    const std::vector<PastCall> calls = newest_calls(job, at, kMaxStepHistory);
    auto repeat = job.records[at]->from_memory ? repeat_of(calls, true) : std::nullopt;
    repeat = repeat || !job.records[at]->from_memory ? repeat : repeat_of(calls, false);
    // The groups are in the order of their sizes; collectives have numbers that members share.
    for (std::size_t group = 0; repeat && group < job.groups.size(); ++group) {
      auto step = count_calls(calls, *repeat, group, false);
      step = step ? step : count_calls(calls, *repeat, group, true);
      if (step) {
        step->rank = job.records[at]->rank;
        step->group = job.groups[group].words();
        alike[{group, step->transfers, step->transfers ? 0 : step->calls}].push_back(steps.size());
        steps.push_back(std::move(*step));
        break;
      }
    }
  }
  for (const auto& [kind, rows] : alike) {
    const bool transfers = std::get<bool>(kind);
    std::int64_t foremost = 0;
    for (const std::size_t row : rows) {
      foremost = std::max(foremost, transfers ? steps[row].step : steps[row].newest);
    }
    for (const std::size_t row : rows) {
      RankStep& step = steps[row];
      step.behind = transfers ? foremost - step.step : (foremost - step.newest) / std::get<2>(kind);
    }
  }
  return steps;
}

const RankStep* step_of(const std::vector<RankStep>& steps, std::int32_t rank) {
  const auto at = std::ranges::lower_bound(steps, rank, {}, &RankStep::rank);
  return at != steps.end() && at->rank == rank ? &*at : nullptr;
}

}  // namespace oddrank::aggregate
