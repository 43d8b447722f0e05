#include "aggregate/flight/flight_history.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "aggregate/flight/past_calls.h"
#include "base/printable.h"

namespace oddrank::aggregate {

namespace {

constexpr std::size_t kMaxHabit = 1024;  // newest calls of a rank

enum class Habit : std::uint8_t { kUnknown = 0, kKept, kLeft };

// Returns whether the last call is what the calls before predict. The warm-up may differ, so the
// oldest quarter need not repeat.
Habit habit_of(const FlightJob& job, std::int32_t rank) {
  const std::size_t at = job.index_of(rank);
  if (at == job.records.size()) {
    return Habit::kUnknown;
  }
  const std::vector<PastCall> calls = newest_calls(job, at, kMaxHabit);
  const auto repeat = repeat_of(calls, false);
  if (!repeat || repeat->end + 1 < calls.size() ||
      4 * (repeat->run + repeat->period) < 3 * (calls.size() - 1)) {
    return Habit::kUnknown;
  }
  return repeat->end == calls.size() ? Habit::kKept : Habit::kLeft;
}

HistoryCall history_call(const FlightJob& job, std::size_t at, const FlightEntry& entry) {
  const Tables& texts = *job.texts;
  HistoryCall call;
  call.op = printable(texts.text(entry.op), 40);
  call.group = "?";
  if (const std::size_t group = job.group_at(at, entry); group != FlightJob::kNoGroup) {
    const FlightMembers& members = job.groups[group];
    call.group = members.is_default ? "default" : "group " + printable(members.name, 40);
  }
  call.place = printable(texts.text(entry.place), 80);
  call.number = entry.is_p2p ? entry.transfer : entry.sequence;
  call.peer = entry.is_p2p ? entry.peer : -1;
  call.open = !has_ended(entry, texts);
  return call;
}

CallHistory last_calls(const FlightJob& job, std::size_t at, std::size_t most) {
  const auto& entries = job.records[at]->entries;
  const std::size_t shown = std::min(entries.size(), most);
  CallHistory history;
  history.earlier = shown < entries.size();
  for (std::size_t i = entries.size() - shown; i < entries.size(); ++i) {
    history.calls.push_back(history_call(job, at, entries[i]));
  }
  return history;
}

}  // namespace

std::vector<std::int32_t> left_own_pattern(const FlightJob& job,
                                           const std::vector<std::int32_t>& ranks) {
  std::vector<std::int32_t> left;
  std::size_t kept = 0;
  for (const std::int32_t rank : ranks) {
    const Habit habit = habit_of(job, rank);
    if (habit == Habit::kUnknown) {
      return {};
    }
    if (habit == Habit::kLeft) {
      left.push_back(rank);
    } else {
      ++kept;
    }
  }
  return left.size() <= kept ? left : std::vector<std::int32_t>();
}

bool is_past_pattern(const FlightJob& job, std::int32_t rank) {
  const std::size_t at = job.index_of(rank);
  if (at == job.records.size()) {
    return false;
  }
  const std::vector<PastCall> calls = newest_calls(job, at, kMaxHabit);
  const auto times = [&calls](const CallKey& key) {
    return std::ranges::count(calls, key, &PastCall::key);
  };
  return calls.size() > 2 && times(calls.back().key) == 1 && times(calls[calls.size() - 2].key) > 1;
}

std::vector<CallHistory> histories_of(const FlightJob& job,
                                      const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kKeptCalls = 16;
  constexpr std::size_t kMaxHistories = 64;
  std::vector<CallHistory> found;
  for (const bool named : {true, false}) {
    const std::size_t first = found.size();
    for (std::size_t at = 0; at < job.records.size(); ++at) {
      const std::int32_t rank = job.records[at]->rank;
      const bool is_named = std::ranges::find(ranks, rank) != ranks.end();
      if (is_named != named || job.records[at]->entries.empty()) {
        continue;
      }
      CallHistory history = last_calls(job, at, kKeptCalls);
      const auto same =
          std::find_if(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(),
                       [&history](const CallHistory& one) { return one.calls == history.calls; });
      if (same != found.end()) {
        same->ranks.push_back(rank);
      } else if (found.size() < kMaxHistories) {
        history.ranks = {rank};
        history.named = named;
        found.push_back(std::move(history));
      }
    }
  }
  return found;
}

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
