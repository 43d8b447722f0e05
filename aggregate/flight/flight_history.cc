#include "aggregate/flight/flight_history.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/flight/flight_verdict.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxPeriod = 256;  // calls of one step
constexpr std::size_t kShownCalls = 5;
constexpr std::size_t kMaxHistories = 4;  // lines

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

std::string call_text(const FlightJob& job, std::size_t at, const FlightEntry& entry) {
  const Tables& texts = *job.texts;
  std::string group = "?";
  if (entry.group < job.group_of[at].size()) {
    const FlightMembers& members = job.groups[job.group_of[at][entry.group]];
    group = members.is_default ? "default" : "group " + printable(members.name, 40);
  }
  return fmt::format("{} {} #{}{}", printable(texts.text(entry.op), 40), group,
                     entry.is_p2p ? entry.transfer : entry.sequence,
                     has_ended(entry, texts) ? "" : " (open)");
}

std::string last_calls(const FlightJob& job, std::size_t at) {
  const auto& entries = job.records[at]->entries;
  const std::size_t shown = std::min(entries.size(), kShownCalls);
  std::string text = shown < entries.size() ? "... " : "";
  for (std::size_t i = entries.size() - shown; i < entries.size(); ++i) {
    text += (i == entries.size() - shown ? "" : ", ") + call_text(job, at, entries[i]);
  }
  return text;
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

std::vector<std::int32_t> apart_from_most(const FlightJob& job,
                                          const std::vector<std::int32_t>& ranks) {
  std::map<std::string, std::size_t> count;
  for (std::size_t at = 0; at < job.records.size(); ++at) {
    ++count[last_calls(job, at)];
  }
  const auto most = std::find_if(count.begin(), count.end(), [&job](const auto& row) {
    return row.second * 2 > job.records.size();
  });
  std::vector<std::int32_t> apart;
  for (const std::int32_t rank : ranks) {
    const std::size_t at = index_of_record(job, rank);
    if (most != count.end() && at < job.records.size() && last_calls(job, at) != most->first) {
      apart.push_back(rank);
    }
  }
  return apart;
}

std::vector<std::string> history_words(const FlightJob& job,
                                       const std::vector<std::int32_t>& ranks) {
  std::map<std::string, std::vector<std::int32_t>> named;
  std::map<std::string, std::vector<std::int32_t>> others;
  for (std::size_t at = 0; at < job.records.size(); ++at) {
    const std::int32_t rank = job.records[at]->rank;
    if (job.records[at]->entries.empty()) {
      continue;
    }
    const bool is_named = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    (is_named ? named : others)[last_calls(job, at)].push_back(rank);
  }
  std::vector<std::string> lines;
  for (const auto* side : {&named, &others}) {
    for (const auto& [text, members] : *side) {
      if (lines.size() < kMaxHistories) {
        lines.push_back(fmt::format("{}: {}", flight_ranks_words(members), text));
      }
    }
  }
  return lines;
}

}  // namespace oddrank::aggregate
