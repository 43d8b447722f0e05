#include "aggregate/flight/flight_history.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxPeriod = 256;  // calls of one step

// What repeats from step to step.
using Step = std::tuple<snapshot::StringId, std::size_t, snapshot::StringId>;

std::size_t index_of_record(const FlightJob& job, std::int32_t rank) {
  const auto at = std::lower_bound(
      job.records.begin(), job.records.end(), rank,
      [](const FlightRecord* one, std::int32_t wanted) { return one->rank < wanted; });
  const bool found = at != job.records.end() && (*at)->rank == rank;
  return static_cast<std::size_t>((found ? at : job.records.end()) - job.records.begin());
}

std::vector<Step> steps_of(const FlightJob& job, std::size_t at) {
  std::vector<Step> steps;
  const FlightRecord& record = *job.records[at];
  for (const FlightEntry& entry : record.entries) {
    const std::size_t group =
        entry.group < job.group_of[at].size() ? job.group_of[at][entry.group] : SIZE_MAX;
    steps.emplace_back(entry.op, group, entry.place);
  }
  return steps;
}

// Returns the length of a step: the smallest period of the calls before the last one. Warming up
// may differ, so the oldest quarter of them need not fit.
std::optional<std::size_t> period_of(const std::vector<Step>& steps) {
  const std::size_t past = steps.size() - 1;
  for (std::size_t period = 1; period <= std::min(past / 2, kMaxPeriod); ++period) {
    const std::size_t from = std::max(period, std::min(past / 4, past - 2 * period) + period);
    bool fits = from < past;
    for (std::size_t i = from; i < past && fits; ++i) {
      fits = steps[i] == steps[i - period];
    }
    if (fits) {
      return period;
    }
  }
  return std::nullopt;
}

enum class Habit : std::uint8_t { kUnknown = 0, kKept, kLeft };

Habit habit_of(const FlightJob& job, std::size_t at) {
  const std::vector<Step> steps = steps_of(job, at);
  if (steps.size() < 3) {
    return Habit::kUnknown;
  }
  const auto period = period_of(steps);
  if (!period) {
    return Habit::kUnknown;
  }
  return steps.back() == steps[steps.size() - 1 - *period] ? Habit::kKept : Habit::kLeft;
}

HistoryCall history_call(const FlightJob& job, std::size_t at, const FlightEntry& entry) {
  const Tables& texts = *job.texts;
  HistoryCall call;
  call.op = printable(texts.text(entry.op), 40);
  call.group = "?";
  if (entry.group < job.group_of[at].size()) {
    const FlightMembers& members = job.groups[job.group_of[at][entry.group]];
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
    const std::size_t at = index_of_record(job, rank);
    const Habit habit = at == job.records.size() ? Habit::kUnknown : habit_of(job, at);
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
  const std::size_t at = index_of_record(job, rank);
  if (at == job.records.size()) {
    return false;
  }
  const std::vector<Step> steps = steps_of(job, at);
  if (steps.size() < 3) {
    return false;
  }
  const auto last = steps.end() - 1;
  const bool repeats = std::count(steps.begin(), last, *(last - 1)) >= 2;
  return repeats && std::find(steps.begin(), last, *last) == last;
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
      const bool is_named = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
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

}  // namespace oddrank::aggregate
