#include "aggregate/blame/suspects.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/evidence/server_waits.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/loop_work.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/program_order.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/view/without_work.h"

namespace oddrank::aggregate {

namespace {

// Returns whether a story explains a rank although no rank is seen to wait for it.
bool explains_itself(Kind story) {
  return story != Kind::kSkippedCollective && story != Kind::kUnknown && story != Kind::kBusyRank;
}

// Returns whether the rank has another role: the members of all calls in which ranks wait are
// known, it is not among them, and nothing of its own explains where it is.
bool has_another_role(const RuleInput& input, std::size_t at) {
  const auto has = [at](const std::vector<std::size_t>& ranks) {
    return std::ranges::binary_search(ranks, at);
  };
  const auto& slots = input.graph.slots;
  const bool apart = std::ranges::all_of(slots, [&has, at](const Slot& slot) {
    return slot.membership == Membership::kKnown && !has(slot.inside) && !has(slot.absent) &&
           !has(slot.unclear) && std::ranges::find(slot.beside, at) == slot.beside.end();
  });
  return apart && !slots.empty() && !explains_itself(local_story(input, at));
}

// Returns whether a rank can move, for which another one may wait.
bool any_may_move(const RuleInput& input) {
  for (std::size_t at = 0; at < input.blame.blocked.size(); ++at) {
    const BlockedOn on = input.blame.blocked[at];
    if ((on == BlockedOn::kNoRank || on == BlockedOn::kClock) && !has_another_role(input, at)) {
      return true;
    }
  }
  return false;
}

// The ranks that others wait for, by what they are.
struct Awaited {
  std::vector<std::size_t> roots;
  std::vector<std::size_t> ticking;
  std::vector<std::size_t> vague;
  bool any_unknown = false;
};

Awaited find_awaited(const RuleInput& input) {
  const Blame& blame = input.blame;
  Awaited found;
  std::vector<std::size_t> guessed;
  for (std::size_t at = 0; at < blame.blocked.size(); ++at) {
    if (!input.graph.awaited[at]) {
      continue;
    }
    switch (blame.blocked[at]) {
      case BlockedOn::kNoRank:
        (blame.is_sure(at) ? found.roots : guessed).push_back(at);
        break;
      case BlockedOn::kClock:
        found.ticking.push_back(at);
        break;
      case BlockedOn::kSomebody:
      case BlockedOn::kOwnProcess:
        found.vague.push_back(at);
        break;
      default:
        found.any_unknown = found.any_unknown || blame.blocked[at] == BlockedOn::kUnknown;
    }
  }
  for (const auto& [at, part] : blame.by_part) {
    (blame.is_sure(at) ? found.roots : guessed).push_back(at);
  }
  // A guessed rank counts only if there is no sure one, and not if it is one of several.
  std::erase_if(guessed, [&blame](std::size_t at) { return blame.one_of_several[at]; });
  if (found.roots.empty()) {
    found.roots = std::move(guessed);
  }
  return found;
}

// Makes the roots that open a named pipe vague, if there are others: one of these may have to open
// its other end.
void doubt_openers(const RuleInput& input, Awaited& awaited) {
  std::vector<std::size_t>& roots = awaited.roots;
  const auto is_opener = [&input](std::size_t at) {
    return opens_named_pipe(input.view, input.end(at).view());
  };
  if (!std::ranges::all_of(roots, is_opener)) {
    std::ranges::copy_if(roots, std::back_inserter(awaited.vague), is_opener);
    std::erase_if(roots, is_opener);
  }
}

// A rank that only ticks is a root if there is no other root, and no rank waits for an unknown
// holder: else it may be such a rank that the ticking one asks for, and not the converse. If there
// are several, each may ask for what another one does not do.
void take_ticking(const RuleInput& input, Awaited& awaited) {
  const bool anybody_else = std::ranges::any_of(awaited.vague, [&input](std::size_t at) {
    return input.blame.blocked[at] == BlockedOn::kSomebody;
  });
  if (!awaited.any_unknown && awaited.roots.empty() && !anybody_else &&
      awaited.ticking.size() == 1) {
    awaited.roots = awaited.ticking;
  }
}

// Returns whether another rank is at the same place as this one.
bool has_company(const RuleInput& input, std::size_t rank) {
  const auto& ranks = input.view.ranks();
  if (rank == JobView::kNone || ranks[rank].sample() == nullptr) {
    return false;
  }
  const std::string& place = input.view.model().fold(*ranks[rank].sample()).key;
  return std::ranges::any_of(ranks, [&](const RankView& other) {
    return &other != &ranks[rank] && other.sample() != nullptr &&
           input.view.model().fold(*other.sample()).key == place;
  });
}

// Returns the only rank with this stand, if all others stand still and wait; kNone if another rank
// has it, too, or moves.
std::size_t only_one(const RuleInput& input, const std::vector<BlockedOn>& blocked, BlockedOn on) {
  std::size_t found = JobView::kNone;
  for (std::size_t at = 0; at < blocked.size(); ++at) {
    const RankView& rank = input.rank(at);
    if (blocked[at] == on) {
      if (found != JobView::kNone) {
        return JobView::kNone;
      }
      found = at;
    } else if (blocked[at] == BlockedOn::kUnknown || blocked[at] == BlockedOn::kNoRank ||
               rank.motion.stack) {
      return JobView::kNone;
    }
    if (rank.presence == Presence::kRead && !rank.motion.measured) {
      return JobView::kNone;
    }
  }
  return blocked.size() < 2 || has_company(input, found) ? JobView::kNone : found;
}

// Returns where a rank stands: its frames, and the store's key that it asks for.
std::string place_and_key(const JobView& view, const RankView& rank) {
  const std::string& frames = view.model().fold(*rank.sample()).key;
  return frames.empty() ? frames
                        : fmt::format("{}\n{}", frames, view.text(rank.decider->wait.rare->key));
}

// Returns the only rank that is elsewhere while all others, at least two, are at one place; kNone
// if there is none, or if a rank is not still.
std::size_t only_elsewhere(const RuleInput& input) {
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t at = 0; at < input.view.ranks().size(); ++at) {
    const RankView& rank = input.rank(at);
    if (rank.presence != Presence::kRead || rank.sample() == nullptr || rank.motion.stack ||
        !rank.motion.measured) {
      return JobView::kNone;
    }
    places[place_and_key(input.view, rank)].push_back(at);
    if (places.size() > 2) {
      return JobView::kNone;
    }
  }
  if (places.size() != 2 || places.contains("")) {
    return JobView::kNone;
  }
  const auto& a = places.begin()->second;
  const auto& b = std::next(places.begin())->second;
  if (std::min(a.size(), b.size()) != 1 || std::max(a.size(), b.size()) < 2) {
    return JobView::kNone;
  }
  return a.size() == 1 ? a.front() : b.front();
}

// Returns whether all members of some call are known to be inside.
bool has_complete_call(const RuleInput& input) {
  return std::ranges::any_of(input.graph.slots, [](const Slot& slot) {
    return slot.membership == Membership::kKnown && is_clear(slot) && slot.absent.empty();
  });
}

// Returns whether the rank is in a call that all other ranks have to enter. Not a rooted call,
// where they may have done their parts.
bool waits_for_all_others(const RuleInput& input, std::size_t rank) {
  return std::ranges::any_of(input.graph.slots, [&](const Slot& slot) {
    return slot.inside == std::vector<std::size_t>{rank} && !may_be_over_for_some(slot) &&
           slot.absent.size() + 1 == input.view.ranks().size();
  });
}

// Returns whether the rank stands in something that another rank may end. A rank that sleeps or
// runs in its own code waits for none, nor does one that takes turns in a loop without end.
bool may_wait(const JobView& view, const RankView& rank) {
  if (rank.decider == nullptr || rank.sample() == nullptr || takes_turns(view, rank) ||
      waits_in_turns(rank)) {
    return false;
  }
  // Not is_at_work: a rank that spins on its device waits, and is in state R.
  const bool at_work = rank.decider->wait.on == snapshot::WaitOn::kNothing ||
                       sleeps_on_purpose(*rank.decider, view.model());
  const bool asks = rank.polls && rank.polls != snapshot::PollOn::kUnknown;
  return rank.decider->call || asks || !at_work || rests_in_loop(view, *rank.decider) ||
         view.model().story(*rank.sample(), Story::kCommunicates).has_value();
}

// Returns whether another rank goes on with its work: its loop is further on, and does more than
// poll. A rank that sleeps in its loop makes calls there.
bool others_go_on(const RuleInput& input, std::size_t odd) {
  const auto& ranks = input.view.ranks();
  return std::ranges::any_of(ranks, [&](const RankView& rank) {
    return &rank != &ranks[odd] && rank.motion.locals && !rank.polls && rank.decider != nullptr &&
           (rank.motion.calls || !sleeps_on_purpose(*rank.decider, input.view.model()));
  });
}

// Returns whether anything is seen to wait: another rank, or the odd one by polling. Ranks that do
// different work are no hang.
bool anything_waits(const RuleInput& input, std::size_t odd) {
  const auto& ranks = input.view.ranks();
  return ranks[odd].polls || std::ranges::any_of(ranks, [&](const RankView& rank) {
           return &rank != &ranks[odd] && may_wait(input.view, rank);
         });
}

// Returns whether another rank waits for a message in the same way: then their roles explain the
// different places, as for a server among its clients, and neither is the odd one out.
bool waits_like_another(const RuleInput& input, std::size_t odd) {
  const auto& ranks = input.view.ranks();
  if (!is_to_be_woken(input.view, ranks[odd])) {
    return false;
  }
  return std::ranges::any_of(ranks, [&](const RankView& rank) {
    return &rank != &ranks[odd] && is_to_be_woken(input.view, rank) &&
           rank.decider->wait.syscall_name == ranks[odd].decider->wait.syscall_name;
  });
}

// Returns whether the rank, or the process in which its wait ends, wrote something between the
// samples, to a file or a pipe: then it works, perhaps slowly, and does not only poll.
bool makes_something(const RuleInput& input, const RankView& rank) {
  if (rank.process == nullptr || rank.decider == nullptr) {
    return false;
  }
  const RankView& end = input.end(rank).view();
  if (is_at_python_lock(*end.decider) && is_last_of_python(*end.process, *end.decider)) {
    return false;  // it shows that it waits
  }
  return writes(*rank.process, *rank.decider) || writes(*end.process, *end.decider);
}

// Returns whether the process differs in kind from all others, by titles or programs: a server
// among its clients. Then it means nothing that it is elsewhere.
bool has_no_equals(const JobView& view, std::size_t at) {
  const std::string_view own = view.rank(at).label;
  return !own.empty() && std::ranges::none_of(view.ranks(), [&](const RankView& other) {
    return &other != &view.rank(at) && (other.label.empty() || other.label == own);
  });
}

// Returns whether the rank runs another part of the program than all others: `if rank == 0:
// serve()`. Then it means nothing that it is elsewhere, unless calls show that they belong
// together.
bool has_own_part(const RuleInput& input, std::size_t at) {
  const auto& ranks = input.view.ranks();
  const ProgramPlace own = place_in_program(input.view, ranks[at]);
  return !input.anybody_in_call && std::ranges::all_of(ranks, [&](const RankView& other) {
    return &other == &ranks[at] ||
           program_order(own, place_in_program(input.view, other)) == ProgramOrder::kApart;
  });
}

// Returns whether the rank moves, and is awaited otherwise than in a call: then it keeps what the
// others wait for (a lock, an answer) while it goes on, as a leader does.
bool gets_on(const RuleInput& input, std::size_t at) {
  return input.graph.awaited[at] && input.rank(at).motion.moved() &&
         std::ranges::none_of(input.graph.slots, [at](const Slot& slot) {
           return std::ranges::binary_search(slot.absent, at);
         });
}

// Finds the ranks to name if no wait leads to any rank.
std::vector<std::size_t> find_odd(const RuleInput& input, const std::vector<BlockedOn>& blocked) {
  std::vector<std::size_t> odd;
  if (has_complete_call(input)) {
    return odd;
  }
  if (const std::size_t mover = only_one(input, blocked, BlockedOn::kNoRank);
      mover != JobView::kNone) {
    odd.push_back(mover);
  } else if (const std::size_t vague = only_one(input, blocked, BlockedOn::kSomebody);
             vague != JobView::kNone && input.anybody_in_call &&
             !may_need_others(input, input.rank(vague))) {
    odd.push_back(vague);
  } else if (const std::size_t elsewhere = only_elsewhere(input); elsewhere != JobView::kNone) {
    // The others are all inside of one call that does not end: this rank is missing there. But if
    // it is in a call itself, the others may be missing in that one.
    const bool waits =
        blocked[elsewhere] == BlockedOn::kRanks || blocked[elsewhere] == BlockedOn::kCall;
    bool others_in_call = !waits || waits_for_all_others(input, elsewhere);
    for (std::size_t at = 0; at < blocked.size(); ++at) {
      others_in_call = others_in_call && (at == elsewhere || blocked[at] == BlockedOn::kCall);
    }
    if (others_in_call ||
        (!input.anybody_in_call && !waits && !waits_like_another(input, elsewhere))) {
      odd.push_back(elsewhere);
    }
  }
  std::erase_if(odd, [&input](std::size_t at) {
    return has_no_equals(input.view, at) || has_own_part(input, at) ||
           makes_something(input, input.rank(at)) || gets_on(input, at) ||
           may_be_idle(input.view, input.graph.slots, at) || !anything_waits(input, at) ||
           others_go_on(input, at);
  });
  return odd;
}

// Returns whether it is an actor that has ended: actors come and go, and a caller of a dead one
// gets an error.
bool is_past_actor(const RankView& rank) {
  return rank.rank < 0 && rank.presence == Presence::kDead && rank.process != nullptr &&
         rank.process->role == snapshot::JobRole::kActor;
}

// Finds the ranks whose own place explains them. A rank that is held always counts, any other only
// if no rank is seen in a call: then nothing tells which rank waits for which.
std::vector<std::size_t> find_alone(const RuleInput& input, const std::vector<BlockedOn>& blocked) {
  return input.view.ranks_that([&](std::size_t at) {
    const bool counts = !input.anybody_in_call || is_held(input, input.rank(at));
    if (input.graph.awaited[at] || !counts || is_past_actor(input.rank(at))) {
      return false;
    }
    const Kind story = local_story(input, at);
    const bool outside = blocked[at] == BlockedOn::kSomebody &&
                         (story == Kind::kExternalWait || story == Kind::kFileLock);
    return (blocked[at] == BlockedOn::kNoRank || outside) &&
           (explains_itself(story) || blocked.size() == 1);
  });
}

// Returns whether more ranks are suspected than wait for them: then the waiters prove little.
bool outnumber_waiters(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  return !ranks.empty() && ranks.size() > waiters_of(input.graph, ranks.front()).size();
}

bool are_many(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  const auto own_code = std::ranges::count_if(
      ranks, [&input](std::size_t at) { return row_of(local_story(input, at)).place_only; });
  return static_cast<std::size_t>(own_code) == ranks.size() && outnumber_waiters(input, ranks);
}

// Returns which of the ranks stopped before all others of the job, by more than these differ from
// each other; kNone if none did, or if it is not known how long each has stood still. The others
// may have stopped because of it, but not the converse.
std::size_t first_to_stop(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  constexpr std::int64_t kMinLead = 5000;  // ms: arrivals of one step differ by this much
  constexpr std::size_t kMinOthers = 3;
  const auto quiet_ms = [&input](std::size_t at) {
    const RankView& rank = input.rank(at);
    return rank.decider == nullptr ? -1 : rank.decider->wait.quiet_ms;
  };
  const std::size_t first = *std::ranges::max_element(
      ranks, [&](std::size_t a, std::size_t b) { return quiet_ms(a) < quiet_ms(b); });
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = -1;
  for (std::size_t at = 0; at < input.view.ranks().size(); ++at) {
    if (at != first) {
      least = std::min(least, quiet_ms(at));
      most = std::max(most, quiet_ms(at));
    }
  }
  const bool known = least >= snapshot::kOldWaitMs && input.view.ranks().size() > kMinOthers;
  const std::int64_t lead = quiet_ms(first) - most;
  return known && lead >= std::max(kMinLead, 2 * (most - least)) ? first : JobView::kNone;
}

// Chooses the ranks to name if no root explains the waiting ranks. A rank that waits for something
// of its own process is always named. A rank that may wait for another one is named only if no
// other rank can move (it may wait for that one), if the others could go on if it did, and if it is
// the only one or stopped first.
Suspects choose_vague(const RuleInput& input, std::vector<std::size_t> ranks) {
  const Blame& blame = input.blame;
  Suspects chosen{Basis::kVague, {}, false};
  std::erase_if(ranks, [&input](std::size_t at) {
    return may_be_idle(input.view, input.graph.slots, at) || gets_on(input, at);
  });
  std::ranges::copy_if(ranks, std::back_inserter(chosen.ranks), [&blame](std::size_t at) {
    return blame.blocked[at] == BlockedOn::kOwnProcess;
  });
  if (!chosen.ranks.empty() || input.unread || any_may_move(input)) {
    return chosen;
  }
  // An awaited rank may in turn wait for a rank that no other rank waits for.
  std::vector<std::size_t> like = ranks;
  for (std::size_t at = 0; at < blame.blocked.size(); ++at) {
    const auto* decider = input.rank(at).decider;
    if (blame.blocked[at] == BlockedOn::kSomebody && !input.graph.awaited[at] &&
        (decider == nullptr || !waits_to_serve(input.view.model(), *decider))) {
      like.push_back(at);
    }
  }
  if (like.size() > 1) {
    const std::size_t first = first_to_stop(input, like);
    chosen.first_to_stop = std::ranges::find(ranks, first) != ranks.end();
    ranks = chosen.first_to_stop ? std::vector{first} : std::vector<std::size_t>();
  }
  const bool circle =
      std::ranges::any_of(blame.circles, [](const Circle& one) { return one.certain; });
  if (ranks.size() == 1 && !circle) {
    chosen.ranks = std::move(ranks);
  }
  return chosen;
}

// Returns the vague ranks that are a separate story, independent of the roots: those that wait for
// something of their own process; else the only one whose waiters wait for no root.
std::vector<std::size_t> apart_from(const RuleInput& input,
                                    const std::vector<std::size_t>& roots,
                                    std::vector<std::size_t> vague) {
  std::erase_if(vague, [&input](std::size_t at) { return !input.blame.is_sure(at); });
  std::vector<std::size_t> own;
  std::ranges::copy_if(vague, std::back_inserter(own), [&input](std::size_t at) {
    return input.blame.blocked[at] == BlockedOn::kOwnProcess;
  });
  if (vague.empty() || !own.empty()) {
    return own;
  }
  const WaitGraph& graph = input.graph;
  const std::vector<std::size_t> to_root = distances(graph.in, roots);
  std::vector<std::size_t> explained;
  std::vector<std::size_t> others;
  for (std::size_t at = 0; at < graph.waits.size(); ++at) {
    if (graph.waits[at]) {
      (to_root[at] != kFar ? explained : others).push_back(at);
    }
  }
  const std::vector<std::size_t> from_explained = distances(graph.out, explained);
  const std::vector<std::size_t> from_others = distances(graph.out, others);
  std::erase_if(
      vague, [&](std::size_t at) { return from_explained[at] != kFar || from_others[at] == kFar; });
  return vague.size() == 1 ? vague : std::vector<std::size_t>();
}

}  // namespace

std::vector<Suspects> find_suspects(const RuleInput& input) {
  std::vector<BlockedOn> blocked = input.blame.blocked;
  std::replace(blocked.begin(), blocked.end(), BlockedOn::kClock, BlockedOn::kSomebody);
  std::replace(blocked.begin(), blocked.end(), BlockedOn::kOwnProcess, BlockedOn::kSomebody);
  Awaited awaited = find_awaited(input);
  std::vector<Suspects> tiers;
  const auto add_suspects = [&tiers](Suspects suspects) {
    if (!suspects.ranks.empty()) {
      tiers.push_back(std::move(suspects));
    }
  };
  const auto add = [&add_suspects](Basis basis, std::vector<std::size_t> ranks) {
    add_suspects({basis, std::move(ranks), false});
  };
  doubt_openers(input, awaited);
  take_ticking(input, awaited);
  // If most ranks are in their own code and few have waited for them, only briefly, they are on
  // their way.
  if (input.young() && are_many(input, awaited.roots)) {
    awaited.roots.clear();
  }
  if (awaited.roots.empty()) {
    if (!outnumber_waiters(input, awaited.vague)) {
      add_suspects(choose_vague(input, std::move(awaited.vague)));
    }
  } else {
    add(Basis::kRoot, awaited.roots);
    add(Basis::kVague, apart_from(input, awaited.roots, std::move(awaited.vague)));
  }
  std::vector<std::size_t> alone = find_alone(input, blocked);
  if (tiers.empty()) {
    std::vector<std::size_t> odd = find_odd(input, blocked);
    std::erase_if(odd, [&alone](std::size_t at) { return std::ranges::binary_search(alone, at); });
    add(Basis::kAlone, std::move(alone));
    add(Basis::kOdd, std::move(odd));
  } else {
    // They explain nothing, but are worth a line.
    std::erase_if(alone, [&input](std::size_t at) { return !is_held(input, input.rank(at)); });
    add(Basis::kAlone, std::move(alone));
  }
  if (tiers.empty()) {
    tiers.emplace_back();
  }
  return tiers;
}

}  // namespace oddrank::aggregate
