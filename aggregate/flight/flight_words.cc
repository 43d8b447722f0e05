#include "aggregate/flight/flight_words.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxFactWords = 300;

// Returns "its last call in this group was barrier #3, at train (train.py:9)" of a rank that is
// absent from the wait.
std::string last_words(const FlightJob& job,
                       const FlightWait& wait,
                       std::int32_t rank,
                       bool of_several) {
  const FlightTrack* track = job.groups[wait.group].track(rank);
  if (wait.sequence < 0) {
    return wait.evidence;
  }
  if (track == nullptr || track->calls.empty()) {
    return "it has called nothing in this group";
  }
  const FlightEntry& call = *track->calls.back();
  const std::string place = printable(job.texts->text(call.place), 80);
  return fmt::format(
      "{} in this group was {} #{}{}",
      of_several ? fmt::format("the last call of rank {}", rank) : std::string("its last call"),
      printable(job.texts->text(call.op), 60), call.sequence, place.empty() ? "" : ", at " + place);
}

std::string waiters_words(const FlightWait& wait) {
  return fmt::format("{} wait{} in {}", ranks_in_short(wait.waiters),
                     wait.waiters.size() == 1 ? "s" : "", wait.on);
}

// Returns "rank 3 has not called all_reduce #4 in default group, in which ranks 0-2 wait".
std::string not_called_words(const FlightWait& wait, const std::vector<std::int32_t>& ranks) {
  const std::string who = ranks_in_short(ranks);
  const std::string_view have = ranks.size() == 1 ? "has" : "have";
  return wait.sequence >= 0
             ? fmt::format("{} {} not called {}, in which {} wait{}", who, have, wait.on,
                           ranks_in_short(wait.waiters), wait.waiters.size() == 1 ? "s" : "")
             : fmt::format("{} {} not made the other side of a transfer: {}", who, have,
                           waiters_words(wait));
}

}  // namespace

std::string wait_words(const FlightFacts& facts, const FlightWait& wait) {
  if (!wait.absent.empty()) {
    return not_called_words(wait, wait.absent);
  }
  if (!wait.unknown.empty()) {
    return fmt::format("{}, and nothing shows that {} {} called it", waiters_words(wait),
                       ranks_in_short(wait.unknown), wait.unknown.size() == 1 ? "has" : "have");
  }
  return fmt::format("{}, which {} called", waiters_words(wait),
                     facts.job.groups[wait.group].ranks_recorded
                         ? "every member has"
                         : "all ranks that are known to be in it have");
}

std::string behind_words(const FlightJob& job) {
  std::string words;
  for (const FlightMembers& group : job.groups) {
    std::vector<std::int32_t> ranks;
    for (const FlightTrack& track : group.tracks) {
      if (track.is_before(group.enqueued)) {
        ranks.push_back(track.rank);
      }
    }
    if (!ranks.empty() && words.size() < kMaxFactWords) {
      words += fmt::format("{}{} in {}", words.empty() ? "" : "; ", ranks_in_short(ranks),
                           group.words());
    }
  }
  return words;
}

std::vector<std::int32_t> ranks_not_come(const FlightFacts& facts) {
  std::set<std::int32_t> ranks;
  std::set<std::int32_t> waiters;
  for (const FlightWait& wait : facts.waits) {
    ranks.insert(wait.absent.begin(), wait.absent.end());
    waiters.insert(wait.waiters.begin(), wait.waiters.end());
  }
  std::erase_if(ranks, [&waiters](std::int32_t rank) { return waiters.contains(rank); });
  return {ranks.begin(), ranks.end()};
}

std::string not_come_words(const FlightFacts& facts, const std::vector<std::int32_t>& ranks) {
  // Each in the call from which the fewest are absent.
  std::vector<const FlightWait*> closest;
  std::ranges::transform(facts.waits, std::back_inserter(closest),
                         [](const FlightWait& wait) { return &wait; });
  std::ranges::stable_sort(closest, {}, [](const auto* wait) { return wait->absent.size(); });
  std::set<std::int32_t> left(ranks.begin(), ranks.end());
  std::string words;
  std::string last;
  for (const FlightWait* wait : closest) {
    std::vector<std::int32_t> absent;
    std::ranges::copy_if(wait->absent, std::back_inserter(absent),
                         [&left](std::int32_t rank) { return left.erase(rank) > 0; });
    if (absent.empty() || words.size() > kMaxFactWords) {
      continue;
    }
    words += (words.empty() ? "" : "; ") + not_called_words(*wait, absent);
    last = last.empty() ? last_words(facts.job, *wait, absent.front(), ranks.size() > 1) : last;
  }
  return words + "; " + last;
}

std::string mismatch_words(const FlightJob& job, const FlightMismatch& mismatch) {
  const std::string group = job.groups[mismatch.group].words();
  const FlightSide& most = mismatch.sides[0];
  const FlightSide& other = mismatch.sides[1];
  if (mismatch.skipped) {
    return fmt::format("{} left out call #{} in {}: they are in {}, which {} call next, after {}",
                       ranks_in_short(mismatch.deviating()), mismatch.sequence, group, other.call,
                       ranks_in_short(most.ranks), most.call);
  }
  const auto side = [](const FlightSide& one) {
    return fmt::format("{} in {}{}", ranks_in_short(one.ranks), one.call,
                       one.place.empty() ? "" : " at " + one.place);
  };
  return fmt::format("call #{} in {} is not the same on all ranks ({}): {}; {}{}",
                     mismatch.sequence, group, mismatch.what, side(other), side(most),
                     mismatch.exchanged ? "; each calls next what the other one calls here" : "");
}

std::string flight_words(const FlightFacts& facts) {
  if (!facts.mismatches.empty()) {
    return mismatch_words(facts.job, facts.mismatches.front());
  }
  if (const auto ranks = ranks_not_come(facts); !ranks.empty()) {
    return not_come_words(facts, ranks);
  }
  // The calls that some ranks have not made; else those that some may not have made; else all.
  std::string words;
  for (const auto ranks : {&FlightWait::absent, &FlightWait::unknown, &FlightWait::waiters}) {
    for (const FlightWait& wait : facts.waits) {
      if (!(wait.*ranks).empty() && words.size() < kMaxFactWords) {
        words += (words.empty() ? "" : "; ") + wait_words(facts, wait);
      }
    }
    if (!words.empty()) {
      return words;
    }
  }
  words = behind_words(facts.job);
  return words.empty() ? "no call is under way, and all ranks have made the same number of calls"
                       : "no call is under way; behind are " + words;
}

}  // namespace oddrank::aggregate
