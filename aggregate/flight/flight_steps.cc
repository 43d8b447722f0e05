#include "aggregate/flight/flight_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/few_notes.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxStepHistory = 512;  // newest calls of a rank
constexpr std::size_t kMaxSteppedRanks = 16384;
constexpr std::size_t kNoGroup = SIZE_MAX;

// What repeats: operation, group, peer, place and sizes.
using SteppedCall = std::
    tuple<snapshot::StringId, std::size_t, std::int32_t, snapshot::StringId, snapshot::StringId>;

// A stretch of calls that repeats, as indices behind the ends of its two last steps.
struct Repeat {
  std::size_t end = 0;
  std::size_t period = 0;
};

// The newest calls of a rank, without a gap.
struct SteppedCalls {
  std::vector<const FlightEntry*> entries;
  std::vector<std::size_t> groups;  // of each
};

SteppedCalls newest_calls(const FlightJob& job, std::size_t at) {
  const auto& entries = job.records[at]->entries;
  std::size_t first = entries.size();
  while (first > 0 && entries.size() - first < kMaxStepHistory &&
         (first == entries.size() || entries[first - 1].record + 1 == entries[first].record)) {
    --first;
  }
  SteppedCalls calls;
  for (std::size_t i = first; i < entries.size(); ++i) {
    calls.entries.push_back(&entries[i]);
    calls.groups.push_back(
        entries[i].group < job.group_of[at].size() ? job.group_of[at][entries[i].group] : kNoGroup);
  }
  return calls;
}

// Returns the smallest period that most of the calls keep, up to the last step, in which a rank may
// have left it. What repeats only within a step (microbatches) does not make up most of the calls.
// `with_sizes`: calls of other sizes are others, such as the buckets of gradients.
std::optional<Repeat> repeat_of(const SteppedCalls& calls, bool with_sizes) {
  std::map<SteppedCall, std::size_t> kinds;
  std::vector<std::size_t> row;  // of each call, which kind it is
  for (std::size_t i = 0; i < calls.entries.size(); ++i) {
    const FlightEntry& entry = *calls.entries[i];
    const SteppedCall call(entry.op, calls.groups[i], entry.is_p2p ? entry.peer : -1, entry.place,
                           with_sizes ? entry.input_sizes : snapshot::StringId{});
    row.push_back(kinds.try_emplace(call, kinds.size()).first->second);
  }
  std::vector<std::size_t> run(row.size());  // of calls that are those a period before
  for (std::size_t period = 1; period <= row.size() / 2; ++period) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      run[i] = i < period || row[i] != row[i - period] ? 0 : (i == 0 ? 0 : run[i - 1]) + 1;
    }
    for (std::size_t end = row.size(); end > row.size() - period; --end) {
      if (run[end - 1] >= std::max(period, (row.size() - period) / 2)) {
        return Repeat{end, period};
      }
    }
  }
  return std::nullopt;
}

std::int64_t number_of(const FlightEntry& entry) {
  return entry.is_p2p ? entry.transfer : entry.sequence;
}

// Counts the calls of one kind, a group's collectives or transfers, of which a step has some.
std::optional<RankStep> count_calls(const SteppedCalls& calls,
                                    const Repeat& repeat,
                                    std::size_t group,
                                    bool transfers) {
  const auto is_counted = [&](std::size_t i) {
    return calls.groups[i] == group && calls.entries[i]->is_p2p == transfers;
  };
  RankStep step;
  for (std::size_t i = repeat.end; i > repeat.end - repeat.period && step.calls == 0; --i) {
    if (is_counted(i - 1)) {
      step.calls =
          number_of(*calls.entries[i - 1]) - number_of(*calls.entries[i - 1 - repeat.period]);
    }
  }
  std::int64_t newest = -1;
  for (std::size_t i = 0; i < calls.entries.size(); ++i) {
    newest = is_counted(i) ? std::max(newest, number_of(*calls.entries[i])) : newest;
  }
  if (step.calls <= 0 || newest <= 0) {
    return std::nullopt;
  }
  step.transfers = transfers;
  step.newest = newest;
  step.step = (newest - 1) / step.calls + 1;
  return step;
}

// What ranks have to have in common to be compared. Each stage of a pipeline has transfers of its
// own number in a step.
using Comparable = std::tuple<std::size_t, bool, std::int64_t>;

// Returns "rank 3 is at call 7, ranks 0-2 at call 8".
std::string places_words(const std::map<std::int64_t, std::vector<std::int32_t>>& ranks_at,
                         std::string_view where) {
  constexpr std::size_t kMaxSkewParts = 8;
  std::string words;
  std::size_t parts = 0;
  std::size_t left = 0;
  for (const auto& [place, ranks] : ranks_at) {
    if (parts == kMaxSkewParts) {
      left += ranks.size();
      continue;
    }
    ++parts;
    const bool one = ranks.size() == 1;
    const std::string_view verb = parts > 1 ? "" : one ? " is" : " are";
    words += fmt::format("{}rank{} {}{} {} {}", parts > 1 ? ", " : "", one ? "" : "s",
                         format_ranks(ranks), verb, where, place);
  }
  return left == 0 ? words : fmt::format("{}, and {}", words, count_of(left, "more rank"));
}

}  // namespace

std::vector<RankStep> rank_steps(const FlightJob& job) {
  std::vector<RankStep> steps;
  std::map<Comparable, std::vector<std::size_t>> alike;
  for (std::size_t at = 0; at < job.records.size() && job.records.size() <= kMaxSteppedRanks;
       ++at) {
    const SteppedCalls calls = newest_calls(job, at);
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
  const auto at =
      std::lower_bound(steps.begin(), steps.end(), rank,
                       [](const RankStep& one, std::int32_t wanted) { return one.rank < wanted; });
  return at != steps.end() && at->rank == rank ? &*at : nullptr;
}

std::string step_words(const RankStep& step) {
  const auto behind = static_cast<std::size_t>(step.behind);
  return fmt::format("about step {} by its own calls{}", step.step,
                     behind == 0 ? "" : ", " + count_of(behind, "step") + " behind");
}

std::vector<std::string> skew_lines(const std::vector<RankStep>& steps) {
  constexpr std::size_t kMaxSkewLines = 4;
  using Counted = std::tuple<std::string, bool, std::int64_t>;
  std::map<Counted, std::map<std::int64_t, std::vector<std::int32_t>>> all;
  for (const RankStep& row : steps) {
    all[{row.group, row.transfers, row.transfers ? 0 : row.calls}]
       [row.transfers ? row.step : row.newest]
           .push_back(row.rank);
  }
  FewNotes lines(kMaxSkewLines, "steps");
  for (const auto& [counted, ranks_at] : all) {
    if (ranks_at.size() < 2) {
      continue;
    }
    const auto& [group, transfers, calls] = counted;
    const std::string line = places_words(ranks_at, transfers ? "in step" : "at call");
    const std::int64_t step = (ranks_at.rbegin()->first - 1) / std::max<std::int64_t>(calls, 1) + 1;
    lines.add(transfers
                  ? fmt::format("{}, by their sends and receives in {}", line, group)
                  : fmt::format("{} of {} ({} a step: about step {})", line, group, calls, step));
  }
  return lines.take();
}

}  // namespace oddrank::aggregate
