#include "aggregate/rules/left_pattern.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "aggregate/evidence/common_order.h"
#include "aggregate/flight/flight_facts.h"
#include "aggregate/flight/flight_history.h"
#include "aggregate/flight/past_calls.h"
#include "aggregate/rules/all_rules.h"
#include "base/printable.h"

namespace oddrank::aggregate {

namespace {

std::string left_out_words(const RuleInput& input, const LeftOutTransfer& one) {
  const auto name = [&input](std::int32_t rank) {
    return JobView::name(input.rank(input.view.index_of(rank)));
  };
  const std::string number =
      one.number < 0 ? "" : fmt::format(", number {} between the two", one.number);
  const std::string waits_at = one.waits_at.empty() ? "" : ", at " + one.waits_at;
  const std::string place =
      one.place.empty() ? "" : fmt::format(", which it made at {} in the steps before", one.place);
  return fmt::format(
      "{} left out a {} rank {} in {}{}; rank {} waits for it{}{}, and all other calls of both are "
      "those of the steps before",
      name(one.rank), one.is_send ? "send to" : "recv from", one.partner, one.group, place,
      one.partner, number, waits_at);
}

}  // namespace

Deviation left_their_pattern(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  const FlightJob* job = input.recorded();
  Deviation found;
  if (job != nullptr) {
    found.ranks = input.view.indices_of(left_own_pattern(*job, input.view.numbers_of(ranks)));
  }
  if (!found.ranks.empty()) {
    const bool one = found.ranks.size() == 1;
    found.how =
        fmt::format("; {} {} not called what {} own calls before foretell",
                    ranks_words(input, found.ranks), one ? "has" : "have", one ? "its" : "their");
  }
  return found;
}

Deviation left_common_order(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  if (!input.outside_order) {
    input.outside_order = outside_common_order(input.view);
  }
  Deviation found;
  std::ranges::set_intersection(ranks, *input.outside_order, std::back_inserter(found.ranks));
  if (found.ranks.empty() || found.ranks.size() == ranks.size()) {
    return {};
  }
  found.how = fmt::format(
      "; by the numbers of calls in each group and the places in the program, {} left the common "
      "order",
      ranks_words(input, found.ranks));
  return found;
}

Deviation on_every_way(const RuleInput& input, const Circle& circle) {
  Deviation found{cuts_of(input.graph, circle), {}};
  if (found.ranks.empty() || found.ranks.size() == circle.ranks.size()) {
    return {};
  }
  found.how = fmt::format("; every way round leads through {}", ranks_words(input, found.ranks));
  return found;
}

std::optional<Finding> left_out_transfer(const RuleInput& input,
                                         const std::vector<std::size_t>& circle) {
  const FlightJob* job = input.recorded();
  if (job == nullptr || any_moved(input, circle)) {
    return std::nullopt;
  }
  const auto found = left_out_transfers(*job, input.view.numbers_of(circle));
  const bool one_rank = !found.empty() && std::ranges::all_of(found, [&](auto& one) {
    return one.rank == found.front().rank;
  });
  if (!one_rank || !is_current(input.view)) {
    return std::nullopt;
  }
  const std::size_t at = input.view.index_of(found.front().rank);
  Finding finding = accuse(input, Kind::kP2pOrder, {at}, Evidence::kNumbers);
  if (finding.confidence == Confidence::kNone) {
    return std::nullopt;
  }
  finding.summary = left_out_words(input, found.front());
  finding.history = histories_of(*job, numbers_of(finding.culprits));
  finding.advice = {fmt::format("look for a branch around {} on rank {}",
                                found.front().place.empty() ? "this call" : found.front().place,
                                found.front().rank)};
  finding.disproves = {"one of these calls returning"};
  return finding;
}

namespace {

constexpr std::size_t kMaxCompared = 4096;  // newest calls of a rank

struct Past {
  const FlightRecord* record = nullptr;
  std::vector<PastCall> calls;
  std::optional<Repeat> repeat;
  bool is_whole = false;  // it begins with the rank's first call
};

// Returns whether a call is the wanted one, by operation, group and peer.
using IsWanted = std::function<bool(const PastCall&)>;

Past past_of(const FlightJob& job, std::size_t at) {
  Past past;
  past.record = job.records[at];
  past.calls = newest_calls(job, at, kMaxCompared);
  past.is_whole = is_whole(*past.record) && past.calls.size() == past.record->entries.size();
  past.repeat = repeat_of(past.calls, false);
  return past;
}

// Returns whether what repeats is a step of the program rather than a microbatch within one. Either
// the past reaches back to the first call and most of it repeats; or some collective is called once
// per period (the gradients' reduction, the norm), while the transfer is made several times.
bool step_is_seen(const Past& past, const IsWanted& is_wanted) {
  const auto stop = past.calls.begin() + static_cast<std::ptrdiff_t>(past.repeat->end);
  const auto begin = stop - static_cast<std::ptrdiff_t>(past.repeat->period);
  return past.is_whole || (std::count_if(begin, stop, is_wanted) >= 2 &&
                           std::any_of(begin, stop, [&](const PastCall& call) {
                             return call.key.peer < 0 &&
                                    std::ranges::count(begin, stop, call.key, &PastCall::key) == 1;
                           }));
}

bool keeps_pattern(const Past& past, const IsWanted& is_wanted) {
  return past.repeat && past.repeat->end == past.calls.size() && step_is_seen(past, is_wanted);
}

// Returns the call that was left out, from the step before. After the gap, the rank has gone on as
// its past predicts if that call is put back.
const PastCall* gap_of(const Past& past, const IsWanted& is_wanted) {
  if (!past.repeat || past.repeat->end == past.calls.size()) {
    return nullptr;  // nothing is missing
  }
  const auto [stray, period, run] = *past.repeat;
  const std::size_t gap = stray - period;
  bool fits = is_wanted(past.calls[gap]) && step_is_seen(past, is_wanted);
  for (std::size_t at = stray; at < past.calls.size() && fits; ++at) {
    const std::size_t before = at + 1 - period;  // as if the call were there
    fits = past.calls[at].key == past.calls[before < stray    ? before
                                            : before == stray ? gap
                                                              : before - 1]
                                     .key;
  }
  return fits ? &past.calls[gap] : nullptr;
}

// Judges by the waiter's oldest open call.
std::optional<LeftOutTransfer> judge(const FlightJob& job,
                                     const std::map<std::int32_t, Past>& pasts,
                                     const Past& waiter) {
  const Tables& texts = *job.texts;
  const auto is_open = [&texts](const PastCall& one) { return !has_ended(*one.entry, texts); };
  const auto open = std::ranges::find_if(waiter.calls, is_open);
  if (open == waiter.calls.end()) {
    return std::nullopt;
  }
  const CallKey& call = open->key;
  const bool receives = texts.text(call.op) == "recv";
  const auto found = pasts.find(call.peer);
  if (found == pasts.end() || &found->second == &waiter || found->second.record->cut ||
      waiter.record->cut || (!receives && texts.text(call.op) != "send")) {
    return std::nullopt;
  }
  const Past& other = found->second;
  const auto is_counterpart = [&](const PastCall& one) {
    return texts.text(one.key.op) == (receives ? "send" : "recv") && one.key.group == call.group &&
           one.key.peer == waiter.record->rank;
  };
  const auto is_alike = [&call](const PastCall& one) { return one.key.is_like(call); };
  const auto number = std::count_if(waiter.calls.begin(), open + 1, is_alike);
  const bool counted = waiter.is_whole && other.is_whole;
  const bool belong_together = std::ranges::any_of(
      other.calls, [&](const PastCall& one) { return is_counterpart(one) && is_open(one); });
  const PastCall* gap = gap_of(other, is_counterpart);
  if (gap == nullptr || belong_together || !keeps_pattern(waiter, is_alike) ||
      (counted && std::ranges::count_if(other.calls, is_counterpart) >= number)) {
    return std::nullopt;
  }
  return LeftOutTransfer{other.record->rank,
                         waiter.record->rank,
                         receives,
                         job.groups[call.group].words(),
                         printable(texts.text(gap->key.place), 80),
                         printable(texts.text(call.place), 80),
                         counted ? number : -1};
}

}  // namespace

std::vector<LeftOutTransfer> left_out_transfers(const FlightJob& job,
                                                const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kMaxRanks = 512;
  std::map<std::int32_t, Past> pasts;
  for (const std::int32_t rank : ranks.size() > kMaxRanks ? std::vector<std::int32_t>() : ranks) {
    if (const std::size_t at = job.index_of(rank); at < job.records.size()) {
      pasts.emplace(rank, past_of(job, at));
    }
  }
  std::vector<LeftOutTransfer> found;
  for (const auto& [rank, past] : pasts) {
    if (auto left_out = judge(job, pasts, past)) {
      found.push_back(std::move(*left_out));
    }
  }
  return found;
}

}  // namespace oddrank::aggregate
