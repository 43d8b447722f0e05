#include "aggregate/flight/left_out_transfer.h"

#include <algorithm>
#include <functional>
#include <map>

#include "aggregate/flight/past_calls.h"
#include "base/printable.h"

namespace oddrank::aggregate {
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
