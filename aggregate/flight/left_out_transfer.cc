#include "aggregate/flight/left_out_transfer.h"

#include <algorithm>

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

// A call that others' waits show to be missing: what, with whom.
struct Wanted {
  std::string_view op;
  std::size_t group = FlightJob::kNoGroup;
  std::int32_t peer = -1;

  bool is(const CallKey& key, const Tables& texts) const;
};

bool Wanted::is(const CallKey& key, const Tables& texts) const {
  return texts.text(key.op) == op && key.group == group && key.peer == peer;
}

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
bool step_is_seen(const Past& past, const Wanted& wanted, const Tables& texts) {
  if (past.is_whole) {
    return true;
  }
  const auto stop = past.calls.begin() + static_cast<std::ptrdiff_t>(past.repeat->end);
  const auto begin = stop - static_cast<std::ptrdiff_t>(past.repeat->period);
  const auto made =
      std::count_if(begin, stop, [&](const PastCall& call) { return wanted.is(call.key, texts); });
  const bool once = std::any_of(begin, stop, [&](const PastCall& call) {
    return call.key.peer < 0 && std::ranges::count(begin, stop, call.key, &PastCall::key) == 1;
  });
  return made >= 2 && once;
}

bool keeps_pattern(const Past& past, const Wanted& wanted, const Tables& texts) {
  return past.repeat && past.repeat->end == past.calls.size() && step_is_seen(past, wanted, texts);
}

// Returns the call that was left out: where the rank made it a step before, as an index. The rank
// has gone on behind it as its past foretells, with that call put back.
std::optional<std::size_t> gap_of(const Past& past, const Wanted& wanted, const Tables& texts) {
  if (!past.repeat || past.repeat->end == past.calls.size()) {
    return std::nullopt;  // nothing is missing
  }
  const auto [stray, period, run] = *past.repeat;
  const std::size_t gap = stray - period;
  bool fits = wanted.is(past.calls[gap].key, texts) && step_is_seen(past, wanted, texts);
  for (std::size_t at = stray; at < past.calls.size() && fits; ++at) {
    const std::size_t before = at + 1 - period;  // as if the call were there
    fits = past.calls[at].key == past.calls[before < stray    ? before
                                            : before == stray ? gap
                                                              : before - 1]
                                     .key;
  }
  return fits ? std::optional(gap) : std::nullopt;
}

class TransferFinder {
 public:
  TransferFinder(const FlightJob& job, const std::vector<std::int32_t>& ranks);

  std::vector<LeftOutTransfer> run() const;

 private:
  const Past* past_of_rank(std::int32_t rank) const;
  bool is_open(const FlightEntry& entry) const { return !has_ended(entry, *job_.texts); }
  // Returns the oldest open transfer; of several with different partners, none.
  std::optional<std::size_t> waiting_call(const Past& past) const;
  std::optional<LeftOutTransfer> judge_call(const Past& waiter, std::size_t at) const;

  const FlightJob& job_;
  std::vector<Past> pasts_;
};

TransferFinder::TransferFinder(const FlightJob& job, const std::vector<std::int32_t>& ranks)
    : job_(job) {
  for (std::size_t at = 0; at < job.records.size(); ++at) {
    if (std::ranges::find(ranks, job.records[at]->rank) != ranks.end()) {
      pasts_.push_back(past_of(job, at));
    }
  }
}

const Past* TransferFinder::past_of_rank(std::int32_t rank) const {
  const auto at =
      std::ranges::find_if(pasts_, [rank](const Past& one) { return one.record->rank == rank; });
  return at == pasts_.end() ? nullptr : &*at;
}

std::optional<std::size_t> TransferFinder::waiting_call(const Past& past) const {
  for (std::size_t at = 0; at < past.calls.size(); ++at) {
    if (is_open(*past.calls[at].entry)) {
      return past.calls[at].key.peer >= 0 ? std::optional(at) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<LeftOutTransfer> TransferFinder::judge_call(const Past& waiter,
                                                          std::size_t at) const {
  const Tables& texts = *job_.texts;
  const CallKey& call = waiter.calls[at].key;
  const bool receives = texts.text(call.op) == "recv";
  const Past* other = past_of_rank(call.peer);
  if (other == nullptr || other == &waiter || other->record->cut || waiter.record->cut ||
      (!receives && texts.text(call.op) != "send")) {
    return std::nullopt;
  }
  const Wanted wanted{receives ? "send" : "recv", call.group, waiter.record->rank};
  std::size_t theirs = 0;
  for (const PastCall& one : other->calls) {
    const bool is_counterpart = wanted.is(one.key, texts);
    theirs += is_counterpart ? 1 : 0;
    if (is_counterpart && is_open(*one.entry)) {
      return std::nullopt;  // the two belong together
    }
  }
  const auto number = static_cast<std::size_t>(std::count_if(
      waiter.calls.begin(), waiter.calls.begin() + static_cast<std::ptrdiff_t>(at + 1),
      [&call](const PastCall& one) { return one.key.is_like(call); }));
  const bool counted = waiter.is_whole && other->is_whole;
  if (counted && theirs >= number) {
    return std::nullopt;
  }
  const Wanted own{texts.text(call.op), call.group, call.peer};
  const auto gap = gap_of(*other, wanted, texts);
  if (!gap || !keeps_pattern(waiter, own, texts)) {
    return std::nullopt;
  }
  LeftOutTransfer found;
  found.rank = other->record->rank;
  found.partner = waiter.record->rank;
  found.is_send = receives;
  found.group = job_.groups[call.group].words();
  found.place = printable(texts.text(other->calls[*gap].key.place), 80);
  found.waits_at = printable(texts.text(call.place), 80);
  found.number = counted ? static_cast<std::int64_t>(number) : -1;
  return found;
}

std::vector<LeftOutTransfer> TransferFinder::run() const {
  std::vector<LeftOutTransfer> found;
  for (const Past& waiter : pasts_) {
    const auto at = waiting_call(waiter);
    if (auto left_out = at ? judge_call(waiter, *at) : std::nullopt) {
      found.push_back(std::move(*left_out));
    }
  }
  return found;
}

}  // namespace

std::vector<LeftOutTransfer> left_out_transfers(const FlightJob& job,
                                                const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kMaxRanks = 512;
  if (ranks.size() > kMaxRanks) {
    return {};
  }
  return TransferFinder(job, ranks).run();
}

}  // namespace oddrank::aggregate
