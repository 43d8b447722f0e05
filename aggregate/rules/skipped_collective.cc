// A rank is past, or never reached, the collective that the others wait in.
//
// Three shapes. (1) The rank is in its own code, and nothing else explains it. (2) The ranks of one
// group are in different collectives of it. Those with the smaller sequence number are behind,
// unless they are the majority: then those ahead deviate;
// without numbers, those in the minority; without a minority, all of them are named. (3) One rank
// is in a call whose group is not known, and all others are shown to wait for it: whichever the
// group is, its other members are among those.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/flight/flight_history.h"
#include "aggregate/flight/flight_words.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/view/call_counts.h"
#include "aggregate/view/coroutines.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/loop_work.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_sentence.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// Returns "polls for a file /data/ready with exists()"; if it is not known what the loop asks for,
// "calls probe() again and again".
std::string poll_words(const Poll& poll) {
  const std::string object = printable(poll.object, 60);
  if (poll.on != snapshot::PollOn::kUnknown) {
    return fmt::format("polls for {}{} with {}()", poll_noun(poll.on),
                       object.empty() ? "" : ' ' + object, poll.what);
  }
  return poll.what.empty() ? "looks at variables or memory again and again"
                           : fmt::format("calls {}({}) again and again", poll.what, object);
}

// Returns "Store.fill (store.py:33)", in the program's own code if that is known.
std::string place_of(const JobView& view, const snapshot::AsyncTask& task) {
  const snapshot::ThreadSample sample = sample_of(task);
  const std::string place = view.model().user_place(&sample);
  return place.empty() ? "a task" : place;
}

// Returns " in Lock.acquire", or " for a future"; "" if nothing more than the place is known.
std::string awaits_words(const JobView& view, const snapshot::AsyncTask& task) {
  const snapshot::ThreadSample sample = sample_of(task);
  const auto& frames = view.model().all_frames(sample);
  if (!frames.empty() && !view.model().shown(frames.front()).user) {
    return " in " + view.model().shown(frames.front()).name;
  }
  return view.text(task.awaits).ends_with("Future>") ? " for a future" : "";
}

// Returns "Store.fill (store.py:33), which waits in Lock.acquire for Store.take (store.py:27),
// which waits in Event.wait".
std::string coroutine_words(const JobView& view, const TaskWay& way) {
  std::string words;
  for (std::size_t at = 0; at < way.tasks.size(); ++at) {
    const bool last = at + 1 == way.tasks.size();
    const std::string awaits = awaits_words(view, *way.tasks[at]);
    words +=
        fmt::format("{}{}, which waits{}", at == 0 ? "" : " for ", place_of(view, *way.tasks[at]),
                    last || !awaits.starts_with(" for ") ? awaits : "");
  }
  return words + (way.circle ? " for one of these" : "");
}

// Returns the slot that the rank is in if it makes a group there that all others have; or null.
const Slot* begun_again(const RuleInput& input, const RankView& rank) {
  const std::size_t at = input.view.index_of(rank.rank);
  const auto slot = std::ranges::find_if(input.graph.slots, [&](const Slot& one) {
    return std::ranges::binary_search(one.inside, at) && begins_again(input.view, one);
  });
  return slot == input.graph.slots.end() ? nullptr : &*slot;
}

// Returns "sleeps in evaluate (train.py:81)", and for how long if a clock ends that.
std::string elsewhere(const RuleInput& input, const RankView& rank) {
  if (rank.decider->call) {
    const Slot* again = begun_again(input, rank);
    return "waits in " + call_words(input.view, *rank.decider->call) +
           (again == nullptr ? ""
                             : fmt::format(" for a group that {} {} already made",
                                           ranks_words(input, again->absent),
                                           again->absent.size() == 1 ? "has" : "have"));
  }
  if (rank.speaks_by_coroutine()) {
    return "has a coroutine in " + coroutine_words(input.view, rank.coroutine->way);
  }
  const std::string where = input.view.model().user_place(rank.sample(), " in ");
  if (waits_for_key(input.view, rank)) {
    const std::string key = printable(input.view.text(rank.decider->wait.rare->key), 60);
    const std::size_t at = input.view.index_of(rank.rank);  // `rank` may be an end
    const bool own = at != JobView::kNone && input.graph.lacks_own_key[at];
    return "waits for " + (key.empty() ? "a key of the store" : "the key " + key) +
           (own ? ", which it has not set itself," : "") + where;
  }
  if (const auto poll = rank.polls ? poll_of(input.view, *rank.decider) : std::nullopt) {
    return poll_words(*poll) + where;
  }
  if (const TaskWay way = tasks_awaited_by(input.view.model(), *rank.process, *rank.decider);
      !way.tasks.empty()) {
    return "waits for its coroutine " + coroutine_words(input.view, way) +
           (waits_for_no_task(input.view.model(), *rank.process, *rank.decider)
                ? ", and no task, connection or other Python thread of it is left to end that"
                : "");
  }
  const std::string words = wait_phase(input.view, rank);
  const bool in_vain =
      is_at_python_lock(*rank.decider) && is_last_of_python(*rank.process, *rank.decider);
  return (!words.empty()  ? words
          : where.empty() ? "is elsewhere"
                          : "is" + where) +
         long_limit_words(rank.decider->wait) +
         (in_vain ? ", and no other Python thread of it is left" : "");
}

// Returns the process or coroutine of the rank that holds up others, whatever the rank itself waits
// for; else null.
const GraphNode* part_to_blame(const RuleInput& input, const RankView& rank) {
  const auto by = input.blame.by_part.find(input.view.index_of(rank));
  return by == input.blame.by_part.end() ? nullptr : &input.graph.nodes[by->second];
}

std::string part_words(const RuleInput& input, const RankView& rank, const GraphNode& part) {
  const snapshot::ProcessCapture& process = *part.process;
  if (part.thread != nullptr) {
    return fmt::format("has a coroutine that owes an answer: it {}",
                       elsewhere(input, view_of(input.view, rank, process, *part.thread)));
  }
  const snapshot::ThreadCapture* thread = deciding_thread(input.view, process);
  const std::string has = fmt::format("has a {} pid {}{}, which ", child_words(input.view, process),
                                      process.pid, command_words(input.view, process));
  return has + (thread == nullptr || thread->samples.empty() || process.state == 'T'
                    ? stuck_words(input.view, process)
                    : elsewhere(input, view_of(input.view, rank, process, *thread)));
}

// Returns what the process or thread does where the rank's wait ends; or the part of the rank that
// holds up others, whatever the rank waits for.
std::string end_words(const RuleInput& input, const RankView& rank) {
  if (const GraphNode* part = part_to_blame(input, rank)) {
    return part_words(input, rank, *part);
  }
  const WaitEnd& end = input.end(rank);
  const bool framed = input.view.model().user_frame(*end.view().sample()).has_value();
  return end.is_own() || framed ? end.way_words() + elsewhere(input, end.view())
                                : end.way_words() + stuck_words(input.view, *end.view().process);
}

void add_advice(const RuleInput& input, const RankView& rank, Finding& finding) {
  if (rank.presence == Presence::kRecorded) {
    finding.advice.emplace_back(fmt::format(
        "look at the stack of rank {} (oddrank node, oddrank job): the recorder does not know what "
        "it does outside of collectives",
        rank.rank));
    return;
  }
  if (const GraphNode* part = part_to_blame(input, rank)) {
    finding.advice.push_back(on_live(rank, fmt::format("oddrank node {}", part->process->pid)));
    return;
  }
  const WaitEnd& end = input.end(rank);
  finding.advice.push_back(on_live(rank, fmt::format("oddrank node {}", end.view().pid())));
  const snapshot::WaitOn on = rank.decider->wait.on;
  if (!end.is_own() || !(on == snapshot::WaitOn::kUnknown || on == snapshot::WaitOn::kNothing ||
                         rank.decider->call)) {
    return;  // it is on its way, and waits
  }
  if (begun_again(input, rank) != nullptr) {
    finding.advice.emplace_back(
        "look whether its program has started again, or has another WORLD_SIZE");
    return;
  }
  for (const Slot& slot : input.graph.slots) {
    if (slot.absent.empty() || slot.inside.empty()) {
      continue;
    }
    const RankView& waiter = input.rank(slot.inside.front());
    const auto frame = input.view.model().user_frame(waiter.sample());
    if (frame) {
      finding.advice.push_back(fmt::format(
          "look for a branch or a loop of another length around {} (the call of the others)",
          frame->place()));
      break;
    }
  }
}

// Returns whether the absent members have not made this call, in which one member gives data to the
// others: all of them are in another call, and if the giver had made this one, those inside would
// have its data. As far as is known: the data may be on its way, or the giver may be inside.
bool is_extra(const JobView& view, const Slot& slot, const std::vector<const Slot*>& of_group) {
  const auto is_in_another = [&](std::size_t at) {
    return std::ranges::any_of(
        of_group, [&](const Slot* other) { return std::ranges::binary_search(other->inside, at); });
  };
  return wait_for_giver(view, slot) && std::ranges::all_of(slot.absent, is_in_another);
}

// Returns the ranks that are behind, from the slots of one group; empty if that cannot be told.
std::vector<std::size_t> behind(const JobView& view,
                                const std::vector<const Slot*>& slots,
                                Confidence& confidence) {
  const Slot* largest = slots.front();  // slots are sorted, largest first
  const bool numbered =
      std::ranges::all_of(slots, [](const Slot* slot) { return slot->sequence >= 0; });
  std::int64_t last = -1;
  for (const Slot* slot : slots) {
    last = std::max(last, slot->sequence);
  }
  const bool tie = slots[1]->inside.size() == largest->inside.size();
  // A call ends early on a rank, or never, if its sizes differ from the others' (gloo). Then most
  // ranks may be behind because of the few ahead.
  const bool most_behind = numbered && slots.size() == 2 && !tie && largest->sequence < last;
  confidence = numbered && !most_behind ? Confidence::kCertain
               : tie                    ? Confidence::kPossible
                                        : Confidence::kLikely;
  // Ranks in a rooted call may wait for any rank that left it out: the others may have done their
  // part. So may those who left the largest call.
  for (auto at = slots.begin() + (tie ? 0 : 1); !numbered && at != slots.end(); ++at) {
    if (!may_be_over_for_some(**at)) {
      continue;
    }
    if (!is_extra(view, **at, slots)) {
      return {};
    }
    confidence = Confidence::kPossible;
  }
  std::vector<std::size_t> ranks;
  for (const Slot* slot : slots) {
    const bool guilty = most_behind ? slot != largest
                        : numbered  ? slot->sequence < last
                                    : tie || slot != largest;
    if (guilty) {
      ranks.insert(ranks.end(), slot->inside.begin(), slot->inside.end());
    }
  }
  std::ranges::sort(ranks);
  return ranks;
}

// What the groups' counts say about a rank that others wait for.
struct CountedAbsence {
  std::string words;      // "; its last call there was #5"
  bool is_past = false;   // it has left the loop in which the others make their call
  bool for_good = false;  // and no other loop leads there again
};

CountedAbsence count_absence(const RuleInput& input, std::size_t at) {
  for (const Slot& slot : input.graph.slots) {
    const bool awaited = std::ranges::find(slot.absent, at) != slot.absent.end();
    if (!awaited || slot.sequence < 0) {
      continue;
    }
    const RankView& rank = input.rank(at);
    const RankView& waiter = input.rank(slot.inside.front());
    if (waiter.decider == nullptr || !waiter.decider->call) {
      continue;
    }
    const std::int64_t newest = newest_in_group(rank, waiter);
    if (newest < 0) {
      continue;
    }
    CountedAbsence found;
    found.words = newest == 0 ? "; it has made no call there"
                              : fmt::format("; its last call there was #{}", newest);
    if (const auto loop = left_loop(input.view, rank, waiter)) {
      found.words += fmt::format(", and it has left the loop around {}", loop->place);
      found.is_past = newest > 0;
      found.for_good = found.is_past && loop->for_good;
    }
    return found;
  }
  return {};
}

// Drops the ranks that may have done their part in the largest call of their group and gone on.
void drop_left(const RuleInput& input, const Slot& largest, std::vector<std::size_t>& ranks) {
  std::erase_if(ranks, [&](std::size_t at) { return may_have_left(largest, input.rank(at).rank); });
}

// Drops calls without a number if numbered calls of the same operation exist: each may be any of
// those, so it is no evidence.
void drop_unclear(std::vector<const Slot*>& slots) {
  std::set<std::string> numbered;
  for (const Slot* slot : slots) {
    if (slot->sequence >= 0) {
      numbered.insert(slot->op);
    }
  }
  std::erase_if(slots, [&numbered](const Slot* slot) {
    return slot->sequence < 0 && numbered.contains(slot->op);
  });
}

// Drops the ranks that wait, in a call with a number, for a member that is in none of these calls:
// that member holds them up, even if others have received their part and gone on.
void drop_waiting(const std::vector<const Slot*>& slots, std::vector<std::size_t>& ranks) {
  const auto is_in = [](const Slot* slot, std::size_t at) {
    return std::ranges::binary_search(slot->inside, at);
  };
  const auto is_elsewhere = [&](std::size_t at) {
    return std::ranges::none_of(slots, [&](const Slot* slot) { return is_in(slot, at); });
  };
  std::erase_if(ranks, [&](std::size_t at) {
    return std::ranges::any_of(slots, [&](const Slot* slot) {
      return slot->sequence >= 0 && is_in(slot, at) &&
             std::ranges::any_of(slot->absent, is_elsewhere);
    });
  });
}

std::vector<Finding> from_same_group(const RuleInput& input) {
  std::map<std::string, std::vector<const Slot*>> by_group;
  for (const Slot* slot : closed_slots(input)) {
    if (slot->kind == snapshot::CallKind::kCollective) {
      by_group[slot->group].push_back(slot);
    }
  }
  std::vector<Finding> findings;
  for (auto& entry : by_group) {
    std::vector<const Slot*>& slots = entry.second;
    drop_unclear(slots);
    Confidence limit = Confidence::kNone;
    const bool same_number = std::ranges::all_of(slots, [&slots](const Slot* slot) {
      return slot->sequence >= 0 && slot->sequence == slots.front()->sequence;
    });
    if (slots.size() < 2 || same_number) {
      continue;
    }
    std::vector<std::size_t> ranks = behind(input.view, slots, limit);
    if (limit != Confidence::kCertain) {
      drop_left(input, *slots.front(), ranks);
    } else {
      drop_waiting(slots, ranks);
    }
    if (ranks.empty() || any_moved(input, ranks)) {
      continue;
    }
    Finding finding =
        accuse(input, Kind::kSkippedCollective, ranks,
               limit == Confidence::kCertain ? Evidence::kNumbers : Evidence::kOwnStall);
    finding.at_most(limit);
    finding.summary = places(input, ranks, [&](const RankView& rank) {
      const std::size_t at = input.view.index_of(rank);
      const Slot* others =  // the largest one that it is not in
          *std::ranges::find_if(slots, [at](const Slot* slot) {
            return !std::ranges::binary_search(slot->inside, at);
          });
      return fmt::format("waits in {}, {} in {}: they are not in the same call",
                         call_at_words(input, rank), ranks_words(input, others->inside),
                         call_at_words(input, input.rank(others->inside.front())));
    });
    add_advice(input, input.rank(ranks.front()), finding);
    finding.disproves = {"sequence numbers that are equal on all ranks"};
    finding.weakness = "which side left out a call is not known without sequence numbers";
    findings.push_back(std::move(finding));
  }
  return findings;
}

// Returns the one rank of shape (3); kNone if there is none. Two such ranks might be a group of
// their own, both inside a call that the network holds up.
std::size_t alone_in_unknown_group(const RuleInput& input) {
  std::size_t found = JobView::kNone;
  for (const Slot& slot : input.graph.slots) {
    if (slot.membership != Membership::kUnknown || slot.kind != snapshot::CallKind::kCollective) {
      continue;
    }
    if (found != JobView::kNone || slot.inside.size() != 1) {
      return JobView::kNone;
    }
    found = slot.inside.front();
  }
  // If a known call has the same operation, the rank may be in that one.
  const bool unclear = std::ranges::any_of(input.graph.slots, [found](const Slot& slot) {
    return std::ranges::find(slot.unclear, found) != slot.unclear.end();
  });
  if (unclear) {
    return JobView::kNone;
  }
  const std::size_t others = input.view.ranks().size() - 1;
  return found != JobView::kNone && input.view.all_read() && others >= 2 &&
                 !input.is_assumed(found) && waiters_of(input.graph, found).size() == others
             ? found
             : JobView::kNone;
}

std::vector<Finding> from_unknown_group(const RuleInput& input) {
  const std::size_t rank = alone_in_unknown_group(input);
  if (rank == JobView::kNone) {
    return {};
  }
  Finding finding = accuse(input, Kind::kSkippedCollective, {rank}, Evidence::kAbsence);
  finding.summary = places(input, {rank}, [&input](const RankView& view) {
    return fmt::format("waits in {}, and is not in the call that all others wait in: {}",
                       call_words(input.view, *view.decider->call),
                       input.graph.slots.front().words);
  });
  add_advice(input, input.rank(rank), finding);
  finding.disproves = {"a member of its group that has done its part and gone on"};
  finding.weakness = "the group that it waits in is not known";
  return {finding};
}

// Returns whether the rank is missing in a call of a communicator: others wait for it in one, or,
// if none is seen to wait for it, the job's ranks have communicators.
bool is_missing_in_call(const RuleInput& input, std::size_t rank) {
  const auto& waiters = input.graph.in[rank];
  if (waiters.empty()) {
    const auto& ranks = input.view.ranks();
    return input.anybody_in_call || std::ranges::any_of(ranks, [](const RankView& each) {
             return each.process != nullptr && !each.process->groups.empty();
           });
  }
  return std::ranges::any_of(waiters, [&input](std::uint32_t at) {
    const GraphNode& node = input.graph.nodes[at];
    return node.kind == NodeKind::kSlot || (node.thread != nullptr && node.thread->call);
  });
}

}  // namespace

std::vector<Finding> skipped_collective(const RuleInput& input) {
  std::vector<std::size_t> ranks;
  for (const std::size_t at : input.with_story) {
    if (input.graph.awaited[at] || input.about.basis == Basis::kOdd) {
      ranks.push_back(at);
    }
  }
  if (ranks.empty()) {
    return {};
  }
  const CountedAbsence counted =
      ranks.size() == 1 ? count_absence(input, ranks.front()) : CountedAbsence();
  // A rank behind the loop does not make the call that the others wait in: it left one out.
  const Kind kind =
      is_missing_in_call(input, ranks.front()) ? Kind::kSkippedCollective : Kind::kStuckRank;
  Finding finding = accuse(input, kind, ranks,
                           counted.for_good  ? Evidence::kNumbers
                           : counted.is_past ? Evidence::kOwnStall
                                             : Evidence::kAbsence);
  finding.summary = input.view.only_recorded()
                        ? not_come_words(*input.view.flight(), input.view.numbers_of(ranks))
                        : sentence(input, ranks, [&input](const RankView& rank) {
                            return end_words(input, rank);
                          }) + counted.words;
  if (const FlightJob* job = input.recorded()) {
    finding.history = histories_of(*job, numbers_of(finding.culprits));
  }
  add_advice(input, input.rank(ranks.front()), finding);
  const bool waits_inside = std::ranges::any_of(ranks, [&input](std::size_t rank) {
    const GraphNode* part = part_to_blame(input, input.rank(rank));
    return part != nullptr && part->thread != nullptr &&
           part->thread->wait.on == snapshot::WaitOn::kLock;
  });
  if (waits_inside) {  // the next message to any coroutine of its process may end that wait
    finding.at_most(Confidence::kPossible);
  }
  const bool in_call = kind == Kind::kSkippedCollective;
  finding.disproves = {in_call ? "the rank entering that call later: then it was only late"
                               : "the rank going on by itself: then it was only slow"};
  finding.weakness = in_call ? "it may still be on its way to that call" : "it may only be slow";
  return {finding};
}

std::vector<Finding> behind_in_group(const RuleInput& input) {
  std::vector<Finding> findings = from_same_group(input);
  for (Finding& finding : from_unknown_group(input)) {
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace oddrank::aggregate
