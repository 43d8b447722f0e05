// A rule is a pure function from the evidence to findings. The engine sorts the findings of all
// rules (all_rules.h), keeps the best and lists the others as alternatives.
//
// The laws of all rules: a culprit is named only with evidence; the absence of a rank is evidence
// only if the group's members are known; ranks that were not read are suspects, and lower the
// confidence in the guilt of all others; one sample cannot tell stuck from slow. suspects.h says
// which ranks may be blamed, and in which order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/blame/blame.h"
#include "aggregate/blame/suspects.h"
#include "aggregate/evidence/wait_graph.h"
#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// A verdict that a rule proposes. Only kUnknown may have no confidence. The engine fills in `also`
// and `alternatives`.
struct Finding : Verdict {
  Basis basis = Basis::kNothing;
  std::size_t explains = 0;  // ranks that wait for the culprits, directly or not
  std::string weakness;      // why it lost, if it loses: "nothing shows that ..."

  void at_most(Confidence limit) { confidence = std::min(confidence, limit); }
};

struct RuleInput {
  const JobView& view;
  const WaitGraph& graph;
  // The suspects about which a rule is asked now, one entry of `tiers`; `told`: those whose own
  // place tells the story of `kind` (local_story.h).
  Suspects about = {};
  Kind kind = Kind::kUnknown;
  std::vector<std::size_t> with_story = {};
  std::vector<Suspects> tiers = {};  // never empty; the strongest basis first
  bool anybody_in_call = false;
  bool unread = false;  // a rank that may exist was not read
  // The longest wait in a call, if all are only seconds old: a hang, or a slow step. -1: there is
  // none, or one is older or of unknown age.
  std::int64_t oldest_wait_ms = -1;
  // One of these ranks wakes again and again, so it may have waited for longer.
  bool may_be_older = false;
  bool all_move = false;  // every measured rank, at least one, moved between the samples
  // Results of waiters_stand_still, by direct waiters: thousands of culprits may share them.
  mutable std::map<std::vector<std::uint32_t>, bool> still = {};
  // Result of outside_common_order, computed once: each circle needs it.
  mutable std::optional<std::vector<std::size_t>> outside_order = {};

  Blame blame = {};

  const RankView& rank(std::size_t at) const { return view.rank(at); }
  // Returns where the wait of one of the view's ranks ends.
  const WaitEnd& end(std::size_t at) const { return graph.ends[at]; }
  const WaitEnd& end(const RankView& rank) const { return end(view.index_of(rank)); }
  // Returns the calls of all ranks, if they were read with their stacks, or there are no stacks;
  // else null.
  const FlightJob* recorded() const;
  bool young() const { return oldest_wait_ms >= 0; }
  // Returns whether only a guess says that ranks wait for this one.
  bool is_assumed(std::size_t rank) const {
    return graph.awaited[rank] && !graph.shown[rank] && !blame.is_sure(rank);
  }
};

// Prepares the input of all rules. Marks in the graph's net which nodes may be unknown holders.
RuleInput make_input(const JobView& view, WaitGraph& graph);

// Returns the input for rules that are asked about these suspects.
RuleInput with_suspects(const RuleInput& input, const Suspects& suspects);

using Rule = std::vector<Finding> (*)(const RuleInput&);

// --- what rules share ---

// Returns whether one of the ranks waits for one of several others, unknown which.
bool waits_for_several(const RuleInput& input, const std::vector<std::size_t>& ranks);

// What the guilt of a rank rests on.
enum class Evidence : std::uint8_t {
  kAbsence,   // it is not in the call that the others wait in, no more
  kOwnStall,  // in addition, its own wait explains why
  kNumbers,  // in addition, numbers of calls contradict each other: time does not mend that, so one
             // sample is enough, even of a core file
  kState,    // the kernel says that it cannot go on: stopped, dead, uninterruptible
};

// Returns how sure a finding may be by the laws above; kNone: it must not be made.
Confidence judge(const RuleInput& input, std::size_t rank, Evidence evidence);

// Returns whether one side of a group is the smaller one, whichever side the unread members are on.
// `members`: those on neither side.
bool is_minority(const RuleInput& input,
                 std::size_t side,
                 std::size_t other_side,
                 const std::vector<std::size_t>& members);

// Returns whether most ranks that wait for `rank` (directly or not) stood still between the
// samples; true if none was measured.
bool waiters_stand_still(const RuleInput& input, std::size_t rank);

// For one rank and for several, each with a blank after it, or "".
struct Verbs {
  std::string_view one;
  std::string_view several;
};
// Returns "ranks 0-2 wait in barrier in default group, rank 3 waits in recv from rank 0": ranks
// grouped by what `wait_of` says, the first few groups.
std::string sides_words(const RuleInput& input,
                        const std::vector<std::size_t>& ranks,
                        Verbs verbs,
                        const std::function<std::string(std::size_t)>& wait_of);

// Returns whether one of the ranks moved between the samples: then they are in no circle.
bool any_moved(const RuleInput& input, const std::vector<std::size_t>& ranks);

// Returns how sure it is that the ranks were in the same calls in all samples. A circle needs that:
// moving ranks that are read one after the other may look like a circle. A thread that spins may
// have made any number of calls in between, unless their numbers are known and stand still; Python
// locals that stand still make it possible that it made none, and likely after three samples.
Confidence same_calls(const RuleInput& input, const std::vector<std::size_t>& ranks);

// Returns "rank 4 (n0, pid 3121) sleeps in ...; the same is true of rank 9". Ranks with the same
// predicate are grouped.
std::string places(const RuleInput& input,
                   const std::vector<std::size_t>& ranks,
                   const std::function<std::string(const RankView&)>& predicate);

// Returns the same with the waiters: "...; ranks 0-3 wait for them in all_reduce in default group".
std::string sentence(const RuleInput& input,
                     const std::vector<std::size_t>& ranks,
                     const std::function<std::string(const RankView&)>& predicate);

// Returns the same with `predicate` about the process and thread in which the rank's wait ends
// (wait_end.h): "rank 4 (n0, pid 3121) waits for its child process pid 71, which is stuck in ...".
std::string sentence_of_end(const RuleInput& input,
                            const std::vector<std::size_t>& ranks,
                            const std::function<std::string(const RankView&)>& predicate);

// Returns "all_reduce in default group #4 at train.py:61": the decider's call, with its line if the
// call has a number. If only the rank's recorder is known: all calls in which it waits.
std::string call_at_words(const RuleInput& input, const RankView& rank);

// Returns the rank as a culprit, with what it waits for.
Culprit culprit_of(const JobView& view, const RankView& rank);

// Makes a finding with culprits, chain, basis, the number of ranks that it explains, and
// confidence (the lowest of its ranks). If the kind's story is told at the end of a wait
// (wait_end.h), the culprits' waits are taken from there; an end that moves, or that is known by
// frames alone, lowers the confidence.
Finding accuse(const RuleInput& input,
               Kind kind,
               const std::vector<std::size_t>& ranks,
               Evidence evidence);
// Makes a finding about RuleInput::kind and the ranks that tell its story (`told`).
Finding accuse(const RuleInput& input, Evidence evidence);

// Returns advice for the rank's host.
Advice on(const RankView& rank, std::string text);
// Returns commands that show the state of the rank's GPUs.
std::vector<Advice> look_at_gpu(const RuleInput& input, const RankView& rank);
// Returns advice for the rank's host that needs a live process.
Advice on_live(const RankView& rank, std::string text);

// Returns "ranks 0-3 wait for it in all_reduce in default group", about those that wait for the
// first of `ranks`; "" if none does.
std::string awaited_words(const RuleInput& input, const std::vector<std::size_t>& ranks);

// Returns "rank 4" or "ranks 4,9"; pids if ranks are unknown.
std::string ranks_words(const RuleInput& input, const std::vector<std::size_t>& ranks);

}  // namespace oddrank::aggregate
