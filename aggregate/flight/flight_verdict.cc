#include "aggregate/flight/flight_verdict.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxLinks = 8;

bool contains(const std::vector<std::int32_t>& ranks, std::int32_t rank) {
  return std::ranges::binary_search(ranks, rank);
}

// Describes a rank's last call in a group; "" if its ring holds none.
std::string last_call(const FlightJob& job, const FlightMembers& group, std::int32_t rank) {
  const FlightTrack* track = group.track(rank);
  if (track == nullptr || track->calls.empty()) {
    return {};
  }
  const FlightEntry& call = *track->calls.back();
  const std::string place = printable(job.texts->text(call.place), 80);
  return fmt::format("{} #{}{}", printable(job.texts->text(call.op), 60), call.sequence,
                     place.empty() ? "" : ", at " + place);
}

// Returns "rank 3 has not called all_reduce #4 in default group, in which ranks 0-2 wait".
std::string not_called_words(const FlightWait& wait, const std::vector<std::int32_t>& ranks) {
  const std::string roots = ranks_in_short(ranks);
  const std::string waiters = ranks_in_short(wait.waiters);
  const std::string_view have = ranks.size() == 1 ? "has" : "have";
  const std::string_view s = wait.waiters.size() == 1 ? "s" : "";
  return wait.sequence >= 0
             ? fmt::format("{} {} not called {}, in which {} wait{}", roots, have, wait.on, waiters,
                           s)
             : fmt::format("{} {} not made the other side of a transfer: {} wait{} in {}", roots,
                           have, waiters, s, wait.on);
}

class Decider {
 public:
  Decider(const FlightJob& job,
          const FlightWaits& waits,
          const std::vector<FlightMismatch>& mismatches)
      : job_(job), waits_(waits), mismatches_(mismatches) {}

  // Adds findings in this order: the most direct evidence first. Those after the first become
  // alternatives.
  Verdict run();

 private:
  void accuse(Verdict& verdict, const std::vector<std::int32_t>& ranks, const std::string& group);
  Confidence no_more_than(Confidence confidence) const;
  void add_mismatches();

  // Returns, among the waits that the rank is absent from, the one with the fewest other absent
  // ranks.
  const FlightWait* wait_for(std::int32_t rank) const;

  // Follows the waits from the roots outwards: first the ranks that wait for the roots, then those
  // that wait for these, and so on.
  std::vector<ChainLink> chain_to(const std::vector<std::int32_t>& roots) const;

  void add_roots();
  void add_circles();

  // Handles members without a dump, if all others have made the call.
  void add_unseen();

  void add_below_host();
  Verdict nothing_open() const;

  const FlightJob& job_;
  const FlightWaits& waits_;
  const std::vector<FlightMismatch>& mismatches_;
  std::vector<Verdict> found_;
};

Verdict Decider::run() {
  add_mismatches();
  add_roots();
  add_circles();
  add_unseen();
  add_below_host();
  if (found_.empty()) {
    return nothing_open();
  }
  Verdict verdict = std::move(found_.front());
  for (std::size_t i = 1; i < found_.size(); ++i) {
    verdict.alternatives.push_back(
        {found_[i].kind, found_[i].summary, "the first finding explains it, or stands by itself"});
  }
  return verdict;
}

void Decider::accuse(Verdict& verdict,
                     const std::vector<std::int32_t>& ranks,
                     const std::string& group) {
  for (const std::int32_t rank : ranks) {
    Culprit culprit;
    culprit.rank = rank;
    culprit.waits_for.group = group;
    verdict.culprits.push_back(std::move(culprit));
  }
}

Confidence Decider::no_more_than(Confidence confidence) const {
  return waits_.unseen.empty() ? confidence : std::min(confidence, Confidence::kLikely);
}

void Decider::add_mismatches() {
  for (const FlightMismatch& mismatch : mismatches_) {
    const FlightMembers& group = job_.groups[mismatch.group];
    Verdict verdict;
    verdict.kind = mismatch.skipped ? Kind::kSkippedCollective : Kind::kMismatchedCollective;
    verdict.confidence = mismatch.tie ? Confidence::kLikely : Confidence::kCertain;
    std::vector<std::int32_t> deviating;
    for (std::size_t i = mismatch.tie ? 0 : 1; i < mismatch.sides.size(); ++i) {
      const auto& ranks = mismatch.sides[i].ranks;
      deviating.insert(deviating.end(), ranks.begin(), ranks.end());
    }
    std::ranges::sort(deviating);
    const FlightSide& most = mismatch.sides[0];
    const FlightSide& other = mismatch.sides[1];
    const auto side = [](const FlightSide& one) {
      return fmt::format("{} in {}{}", ranks_in_short(one.ranks), one.call,
                         one.place.empty() ? "" : " at " + one.place);
    };
    verdict.summary =
        fmt::format("call #{} in {} is not the same on all ranks ({}): {}; {}", mismatch.sequence,
                    group.words(), mismatch.what, side(other), side(most));
    if (mismatch.skipped) {
      verdict.summary =
          fmt::format("{} left out call #{} in {}: they are in {}, which {} call next, after {}",
                      ranks_in_short(deviating), mismatch.sequence, group.words(), other.call,
                      ranks_in_short(most.ranks), most.call);
    }
    if (mismatch.exchanged) {
      verdict.summary += "; each calls next what the other one calls here";
    }
    verdict.advice = {
        "compare the calls on both sides: a branch that only some ranks take, or "
        "tensors of other sizes"};
    verdict.disproves = {"one call at this number on all ranks"};
    accuse(verdict, deviating, group.words());
    found_.push_back(std::move(verdict));
  }
}

const FlightWait* Decider::wait_for(std::int32_t rank) const {
  const FlightWait* best = nullptr;
  for (const FlightWait& wait : waits_.waits) {
    const bool closer = best == nullptr || wait.absent.size() < best->absent.size();
    if (closer && contains(wait.absent, rank)) {
      best = &wait;
    }
  }
  return best;
}

std::vector<ChainLink> Decider::chain_to(const std::vector<std::int32_t>& roots) const {
  std::vector<ChainLink> chain;
  std::set<std::int32_t> reached(roots.begin(), roots.end());
  std::set<std::int32_t> targets = reached;
  std::vector<const FlightWait*> closest_first;
  for (const FlightWait& wait : waits_.waits) {
    closest_first.push_back(&wait);
  }
  std::ranges::stable_sort(closest_first, [](const auto* a, const auto* b) {
    return a->absent.size() < b->absent.size();
  });
  while (chain.size() < kMaxLinks) {
    std::set<std::int32_t> next;
    for (const FlightWait* candidate : closest_first) {
      const FlightWait& wait = *candidate;
      const bool leads = std::ranges::any_of(
          wait.absent, [&targets](std::int32_t one) { return targets.contains(one); });
      std::vector<std::int32_t> fresh;
      std::ranges::copy_if(wait.waiters, std::back_inserter(fresh),
                           [&reached](std::int32_t one) { return !reached.contains(one); });
      if (!leads || fresh.empty()) {
        continue;
      }
      if (chain.size() < kMaxLinks) {
        chain.push_back(
            {format_ranks(wait.waiters), format_ranks(wait.absent), wait.on, wait.evidence});
      }
      next.insert(fresh.begin(), fresh.end());
    }
    if (next.empty()) {
      break;
    }
    reached.insert(next.begin(), next.end());
    targets = std::move(next);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

void Decider::add_roots() {
  if (waits_.roots.empty()) {
    return;
  }
  const std::int32_t first = waits_.roots.front();
  const FlightWait& wait = *wait_for(first);
  const FlightMembers& group = job_.groups[wait.group];
  Verdict verdict;
  verdict.kind = Kind::kSkippedCollective;
  verdict.confidence = no_more_than(Confidence::kLikely);
  const std::string last = last_call(job_, group, first);
  // Each in the call that it is a member of.
  std::vector<std::pair<const FlightWait*, std::vector<std::int32_t>>> missing;
  for (const std::int32_t root : waits_.roots) {
    const FlightWait* awaits = wait_for(root);
    const auto known =
        std::ranges::find_if(missing, [awaits](const auto& one) { return one.first == awaits; });
    if (known != missing.end()) {
      known->second.push_back(root);
    } else if (missing.size() < kMaxLinks) {
      missing.push_back({awaits, {root}});
    }
  }
  for (const auto& [awaits, ranks] : missing) {
    verdict.summary += (verdict.summary.empty() ? "" : "; ") + not_called_words(*awaits, ranks);
  }
  if (wait.sequence >= 0) {
    verdict.summary +=
        last.empty()
            ? "; it has called nothing in this group"
            : fmt::format("; {} in this group was {}",
                          waits_.roots.size() == 1 ? "its last call"
                                                   : fmt::format("the last call of rank {}", first),
                          last);
  } else {
    verdict.summary += "; " + wait.evidence;
  }
  verdict.chain = chain_to(waits_.roots);
  verdict.advice = {fmt::format(
      "look at the stack of rank {} (oddrank node, oddrank job): the recorder does not know what "
      "it does outside of collectives",
      first)};
  verdict.disproves = {"the rank making that call later: then it was only late"};
  accuse(verdict, waits_.roots, group.words());
  found_.push_back(std::move(verdict));
}

void Decider::add_circles() {
  for (const FlightCircle& found : waits_.circles) {
    const std::vector<std::int32_t>& circle = found.ranks;
    const std::vector<std::int32_t>& through = found.through;
    std::string words;
    std::set<std::size_t> groups;
    bool collective = false;
    for (const FlightWait& wait : waits_.waits) {
      const bool inside =
          std::ranges::any_of(wait.waiters, [&](auto rank) { return contains(circle, rank); }) &&
          std::ranges::any_of(wait.absent, [&](auto rank) { return contains(circle, rank); });
      if (!inside) {
        continue;
      }
      groups.insert(wait.group);
      collective = collective || wait.sequence >= 0;
      if (words.size() < 400) {
        words += fmt::format("{}{} in {}{}", words.empty() ? "" : "; ",
                             ranks_in_short(wait.waiters), wait.on,
                             wait.sequence < 0 ? ""  // the other side is in the call's words
                                               : ", without " + ranks_in_short(wait.absent));
      }
    }
    Verdict verdict;
    verdict.kind = !collective         ? Kind::kP2pOrder
                   : groups.size() > 1 ? Kind::kCollectiveOrder
                                       : Kind::kSkippedCollective;
    verdict.confidence = no_more_than(Confidence::kLikely);
    verdict.summary =
        fmt::format("{} wait for each other in a circle: {}", ranks_in_short(circle), words);
    // The other ranks wait beside the circle.
    const bool beside = !through.empty() && through.size() < circle.size();
    if (beside) {
      verdict.summary += "; every way round leads through " + ranks_in_short(through);
    }
    verdict.advice = {collective ? "enter the groups in one order on all ranks"
                                 : "use batch_isend_irecv, or let one side receive first"};
    verdict.disproves = {"one of them standing still elsewhere, with the call under way"};
    accuse(verdict, beside ? through : circle, "");
    found_.push_back(std::move(verdict));
  }
}

void Decider::add_unseen() {
  if (!waits_.roots.empty() || !waits_.circles.empty() || waits_.unseen.empty()) {
    return;
  }
  Verdict verdict;
  const bool one = waits_.unseen.size() == 1;
  verdict.kind = one ? Kind::kMissingRank : Kind::kUnknown;
  verdict.confidence = one ? Confidence::kPossible : Confidence::kNone;
  const auto at = std::ranges::find_if(waits_.waits, [this](const auto& wait) {
    return std::ranges::find(wait.unknown, waits_.unseen.front()) != wait.unknown.end();
  });
  verdict.summary = fmt::format(
      "{} wait{} in {}; all members that gave a dump have called it, and there is no "
      "dump of {}",
      ranks_in_short(at->waiters), at->waiters.size() == 1 ? "s" : "", at->on,
      ranks_in_short(waits_.unseen));
  verdict.advice = {"look for the missing dumps, or for what became of those ranks"};
  verdict.disproves = {"a dump of that rank with the same call"};
  if (one) {
    accuse(verdict, waits_.unseen, job_.groups[at->group].words());
  }
  found_.push_back(std::move(verdict));
}

void Decider::add_below_host() {
  if (!found_.empty()) {
    return;
  }
  const auto open = std::ranges::find_if(
      waits_.waits, [](const auto& wait) { return wait.absent.empty() && !wait.unknown.empty(); });
  const auto at = std::ranges::find_if(
      waits_.waits, [](const auto& wait) { return wait.absent.empty() && wait.unknown.empty(); });
  if (at == waits_.waits.end() || open != waits_.waits.end()) {
    return;
  }
  const bool told = job_.groups[at->group].ranks_told;
  Verdict verdict;
  verdict.kind = Kind::kBelowHost;
  verdict.confidence = told ? Confidence::kLikely : Confidence::kPossible;
  verdict.summary =
      fmt::format("{} called {}, alike, and it has not ended on {}: {}",
                  told ? "every member has" : "all ranks that are known to be in it have", at->on,
                  ranks_in_short(at->waiters),
                  told ? "network, fabric or device"
                       : "a rank that gave no dump, or network, fabric or device");
  verdict.disproves = {"the call ending later: then it was only slow"};
  found_.push_back(std::move(verdict));
}

Verdict Decider::nothing_open() const {
  Verdict verdict;
  std::string behind;
  for (const FlightMembers& group : job_.groups) {
    std::vector<std::int32_t> ranks;
    for (const FlightTrack& track : group.tracks) {
      if (track.is_before(group.enqueued)) {
        ranks.push_back(track.rank);
      }
    }
    if (!ranks.empty() && behind.size() < 300) {
      behind += fmt::format("{}{} in {}", behind.empty() ? "" : "; ", ranks_in_short(ranks),
                            group.words());
    }
  }
  const bool any = std::ranges::any_of(job_.records,
                                       [](const auto* record) { return !record->entries.empty(); });
  const bool open = !waits_.waits.empty();
  if (any && behind.empty() && !open) {
    verdict.kind = Kind::kHealthy;
    verdict.confidence = Confidence::kPossible;
    verdict.summary = "no call is under way, and all ranks have made the same number of calls";
    verdict.disproves = {"a hang outside of what the recorder sees"};
    return verdict;
  }
  verdict.summary = !any   ? "the dumps hold no calls"
                    : open ? "calls are under way, and the dumps do not tell who has not made them"
                           : "no call is under way; behind are " + behind;
  return verdict;
}

}  // namespace

Verdict decide_flight(const FlightJob& job,
                      const FlightWaits& waits,
                      const std::vector<FlightMismatch>& mismatches) {
  return Decider(job, waits, mismatches).run();
}

}  // namespace oddrank::aggregate
