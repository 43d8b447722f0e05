// What a rule is: a pure function from what was seen to findings. The engine ranks the findings of
// all rules (all_rules.h), keeps the best and lists the others as alternatives.
//
// The laws of all rules: a culprit is named only with evidence; that a rank is not where the others
// are is evidence only if the group's members are known; ranks that were not read are suspects, and
// lower the confidence in everybody else's guilt; one sample cannot tell stuck from slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "aggregate/flight/analyze_flight.h"
#include "aggregate/verdict.h"
#include "aggregate/view/groups.h"
#include "aggregate/view/job_view.h"
#include "aggregate/wait_graph.h"

namespace oddrank::aggregate {

struct Finding {
  Kind kind = Kind::kUnknown;
  Confidence confidence = Confidence::kNone;  // kNone: a rule may not return it, except kUnknown
  std::string summary;
  std::vector<Culprit> culprits;
  std::vector<ChainLink> chain;
  std::vector<std::string> advice;
  std::vector<std::string> disproves;
  // Whether ranks wait for the first culprit: of two that are equally sure, one that stands still
  // for itself alone does not hold the job up.
  bool awaited = true;
  // Among findings that are equal so far the higher one wins: how much of the story it explains.
  int weight = 0;
  std::string weakness;  // why it lost, if it loses: "nothing shows that ..."
};

struct RuleInput {
  const JobView& view;
  const WaitGraph& graph;
  const std::vector<Group>& groups;
  const FlightReport* flight = nullptr;  // of the capture's dumps; null: it has none
  // Ranks whose own story is asked for: those that ranks wait for and that wait for no rank. Where
  // nobody is in any call: all ranks.
  std::vector<std::size_t> suspects;
  bool anybody_in_call = false;
  bool unread = false;    // a rank that may be there was not read
  bool all_move = false;  // every rank that was measured, one at least, moved between the samples
  // Answers of waiters_stand_still, by those who wait directly: thousands of culprits may have the
  // same waiters.
  mutable std::map<std::vector<std::size_t>, bool> still;
};

RuleInput make_input(const JobView& view,
                     const WaitGraph& graph,
                     const std::vector<Group>& groups,
                     const FlightReport* flight = nullptr);

using Rule = std::vector<Finding> (*)(const RuleInput&);

// --- what rules share ---

// What the guilt of a rank rests on.
enum class Evidence : std::uint8_t {
  kAbsence,   // it is not in the call that the others wait in, and no more
  kOwnStall,  // besides, its own wait explains itself
  kState,     // the kernel says that it cannot go on: stopped, dead, uninterruptible
};

// How sure one may be, all the laws above applied; kNone: must not be said.
Confidence judge(const RuleInput& input, std::size_t rank, Evidence evidence);

// Of two sides of a group, whether one is the smaller, wherever its members are that were not read.
// `members`: those that are on neither side.
bool is_minority(const RuleInput& input,
                 std::size_t side,
                 std::size_t other_side,
                 const std::vector<std::size_t>& members);

// Most of those that wait for `rank` (directly or not) stood still between the samples; true if
// nobody was measured.
bool waiters_stand_still(const RuleInput& input, std::size_t rank);

// "rank 4 (n0, pid 3121) is ...; so are ranks 5,9": `tail` for the others.
std::string sentence(const RuleInput& input,
                     const std::vector<std::size_t>& ranks,
                     const std::function<std::string(const RankView&)>& predicate);

// A finding with culprits, chain and confidence (the lowest of its ranks) filled in.
Finding accuse(const RuleInput& input,
               Kind kind,
               const std::vector<std::size_t>& ranks,
               Evidence evidence);

// "on n2: " or "".
std::string on_host(const RankView& rank);

// "7 ranks wait for it in all_reduce in default group"; "" if nobody does.
std::string awaited_words(const RuleInput& input, std::size_t rank);

// Ranks as a set, "rank 4" or "ranks 4,9"; pids where ranks are unknown.
std::string ranks_words(const RuleInput& input, const std::vector<std::size_t>& ranks);

}  // namespace oddrank::aggregate
