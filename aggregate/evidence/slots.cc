#include "aggregate/evidence/slots.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/evidence/heard_by_root.h"
#include "aggregate/sources/ras_job.h"
#include "aggregate/view/call_counts.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"
#include "snapshot/replicas/number_replicas.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::StringId;

namespace {

// Returns what ranks in one call have in common: their group. "" if it is not known.
std::string group_key(const JobView& view, const CollectiveCall& call) {
  // An intercommunicator is made by the ranks of two communicators, each of which gives its own.
  if (view.text(call.op).starts_with("intercomm")) {
    return {};
  }
  // Before there are groups, ranks meet in a store: all of them, unless the call says which.
  const std::vector<std::int32_t>& members = view.ranks_of(call.members);
  if (call.whole_world ||
      (call.kind == CallKind::kRendezvous && members.empty() && view.text(call.group).empty())) {
    return "world";
  }
  const std::string name = printable(view.text(call.group));
  return members.empty() ? name : name + "{" + format_ranks(members) + "}";
}

void fill_absent(std::vector<std::size_t> members, Slot& slot) {
  std::vector<std::size_t> inside = slot.inside;
  inside.insert(inside.end(), slot.beside.begin(), slot.beside.end());
  std::ranges::sort(inside);
  std::ranges::sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  std::ranges::set_difference(members, inside, std::back_inserter(slot.absent));
}

std::vector<std::size_t> all_ranks(const JobView& view) {
  return view.ranks_that([&view](std::size_t at) { return view.rank(at).rank >= 0; });
}

// Returns the members in the order of their ranks within the group; empty if they are unknown.
std::vector<std::size_t> members_of(const JobView& view, const Slot& slot) {
  if (slot.group.empty()) {
    return {};
  }
  if (slot.group == "world") {
    return all_ranks(view);
  }
  // The list is part of the group's name, so one rank's list stands for all.
  const CollectiveCall& call = *view.rank(slot.inside.front()).decider->call;
  return view.indices_of(view.ranks_of(call.members));
}

// Returns whether all ranks inside are at the same place of the program.
bool is_at_one_place(const JobView& view, const Slot& slot) {
  const auto place = [&view](std::size_t at) {
    const auto* sample = view.rank(at).sample();
    return sample == nullptr ? std::string_view() : view.model().fold(*sample).key;
  };
  return std::ranges::all_of(
      slot.inside, [&](std::size_t at) { return place(at) == place(slot.inside.front()); });
}

// Guesses the world as the group only if no group is known, all waiting ranks are in one call at
// one place of the program, and the ranks that do not wait are fewer. If there are only two ranks,
// each can wait only for the other.
void assume_world(const JobView& view, std::vector<Slot>& slots) {
  if (slots.size() != 1 || slots.front().membership != Membership::kUnknown ||
      slots.front().kind != CallKind::kCollective) {
    return;
  }
  Slot& slot = slots.front();
  const std::size_t absent = view.ranks().size() - slot.inside.size();
  const bool of_two = slot.inside.size() == 1 && absent == 1;
  if (!of_two && (absent == 0 || absent >= slot.inside.size() || !is_at_one_place(view, slot))) {
    return;
  }
  slot.membership = Membership::kAssumed;
  fill_absent(all_ranks(view), slot);
}

// Adds the ranks that are in a slot by a thread other than the deciding one.
void add_beside(const JobView& view, std::vector<Slot>& slots) {
  std::map<std::tuple<CallKind, std::string, std::string, std::int64_t>, Slot*> by_key;
  for (Slot& slot : slots) {
    by_key.emplace(std::tuple(slot.kind, slot.group, slot.op, slot.sequence), &slot);
  }
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    for (const snapshot::ThreadCapture* thread : view.rank(at).beside) {
      const CollectiveCall& call = *thread->call;
      const auto found = by_key.find(
          {call.kind, group_key(view, call), printable(view.text(call.op), 60), call.sequence});
      if (found == by_key.end()) {
        continue;
      }
      Slot& slot = *found->second;
      if (!std::ranges::binary_search(slot.inside, at)) {
        slot.beside.push_back(at);
      }
    }
  }
}

// Returns whether the process can still do its part in an earlier call: gloo's threads and NCCL's
// kernels go on while the rank does something else, unless the whole process is stopped, or the
// rank has failed, perhaps in that call.
bool goes_on(const RankView& rank) {
  const char state = rank.state();
  return rank.presence == Presence::kRead && rank.decider != nullptr && !rank.stays_stopped() &&
         !rank.crashed() && rank.process->ending == snapshot::Ending::kNone &&
         rank.process->exception == StringId{} &&
         rank.decider->wait.how != snapshot::WaitHow::kFrozen && state != 'D' && state != 'Z' &&
         state != 'X';
}

// Returns whether the rank is in another call of the same group at the same number: then it never
// made this one.
bool is_in_its_place(const JobView& view, const RankView& rank, const Slot& slot) {
  return slot.sequence >= 0 && takes_part(rank) && rank.decider->call->sequence == slot.sequence &&
         rank.decider->call->kind == slot.kind &&
         group_key(view, *rank.decider->call) == slot.group;
}

// Takes members that have already made the call out of the absent ones: they left it, or do not
// wait for its end yet.
void drop_done(const JobView& view, Slot& slot) {
  const RankView& waiter = view.rank(slot.inside.front());
  const auto is_done = [&](std::size_t at) {
    const RankView& rank = view.rank(at);
    return goes_on(rank) && has_made(rank, waiter) && !is_in_its_place(view, rank, slot);
  };
  std::ranges::copy_if(slot.absent, std::back_inserter(slot.beside), is_done);
  std::erase_if(slot.absent, is_done);
  std::ranges::sort(slot.beside);
}

// Returns whether ranks of several replicas have not come: it is not known how many of these the
// lighthouse wants, but if it wants a replica, it wants all its ranks.
bool wants_some_replicas(const JobView& view, const Slot& slot) {
  std::set<std::int32_t> first_ranks;
  for (const std::size_t at : slot.absent) {
    const RankView& rank = view.rank(at);
    const bool known = rank.process != nullptr && rank.process->replica_rank >= 0;
    first_ranks.insert(rank.rank - (known ? rank.process->replica_rank : 0));
  }
  return slot.of_lighthouse && first_ranks.size() > 1;
}

bool root_gives(const Slot& slot) {
  return slot.op.starts_with("broadcast") || slot.op.starts_with("scatter");
}

bool root_takes(const Slot& slot) {
  return slot.op == "reduce" || slot.op.starts_with("gather");
}

// Returns whether it is a call of MPI in which a member waits for only some of the others: its
// neighbours, the ranks before it, those that it has data for, or the members of the new
// communicator. The wait for a nonblocking call does not show the operation, which may be any of
// these, or a rooted one.
bool waits_for_some(const Slot& slot) {
  constexpr auto kOperations = std::to_array<std::string_view>(
      {"neighbors", "scan", "exscan", "all_to_allv", "comm_create_group", "wait", "test"});
  return slot.wants_some || std::ranges::find(kOperations, slot.op) != kOperations.end();
}

bool may_be_same(const Slot& slot, const Slot& other) {
  if (slot.kind != CallKind::kCollective || other.kind != slot.kind || other.op != slot.op) {
    return false;
  }
  if (other.group == slot.group) {
    return (other.sequence < 0) != (slot.sequence < 0);
  }
  return other.group.empty();
}

using RanksByRoot = std::map<std::int32_t, std::vector<std::size_t>>;

// Returns the roots that the ranks inside have given; -1 for those whose root could not be read.
RanksByRoot ranks_by_root(const JobView& view, const Slot& slot) {
  RanksByRoot by_root;
  for (const std::size_t at : slot.inside) {
    by_root[view.rank(at).decider->call->root].push_back(at);
  }
  return by_root;
}

// Splits slots whose ranks have given different roots at the same number: they are not in the same
// call. Without numbers they may be in different calls, one after the other (is_of_several_calls).
void split_by_root(const JobView& view, std::vector<Slot>& slots) {
  std::vector<Slot> more;
  for (Slot& slot : slots) {
    const auto by_root = slot.sequence < 0 ? RanksByRoot() : ranks_by_root(view, slot);
    if (by_root.size() < 2 || by_root.contains(-1)) {
      continue;
    }
    for (const auto& [root, inside] : by_root) {
      Slot part = slot;
      const CollectiveCall& call = *view.rank(inside.front()).decider->call;
      part.root = root;
      part.words = call_words(view, call);
      part.evidence = printable(view.text(call.evidence), 200);
      part.inside = inside;
      more.push_back(std::move(part));
    }
    slot.inside.clear();
  }
  std::erase_if(slots, [](const Slot& slot) { return slot.inside.empty(); });
  std::move(more.begin(), more.end(), std::back_inserter(slots));
}

// Returns whether the ranks may be in different calls: the operation is unknown and they are at
// different places, or they have given different roots.
bool is_of_several_calls(const JobView& view, const Slot& slot) {
  std::set<std::int32_t> roots;
  for (const std::size_t at : slot.inside) {
    roots.insert(view.rank(at).decider->call->root);
  }
  roots.erase(-1);
  if (roots.size() > 1) {
    return true;
  }
  if (!slot.op.empty() || slot.kind != CallKind::kCollective) {
    return false;
  }
  return !is_at_one_place(view, slot);
}

// Takes out of a rendezvous the ranks that have not reached its store yet, unless none has:
// something else holds them up.
void drop_connecting(const JobView& view, Slot& slot) {
  const auto connects = [&view](std::size_t at) {
    return view.model().story(view.rank(at).sample(), Story::kConnects).has_value();
  };
  if (slot.kind == CallKind::kRendezvous && !std::ranges::all_of(slot.inside, connects)) {
    std::erase_if(slot.inside, connects);
  }
}

// Takes out of the creation of a communicator the ranks that have yet to reach its root, unless
// nobody is left: it is not the others that they wait for. If the root has heard of all but those,
// members that are elsewhere by now have done their part.
void ask_root(const JobView& view, const std::vector<std::size_t>& members, Slot& slot) {
  const auto heard =
      slot.kind == CallKind::kRendezvous ? heard_by_root(view, members, slot.inside) : std::nullopt;
  const auto is_absent = [&](std::size_t at) {
    return std::ranges::binary_search(heard->absent, at);
  };
  if (!heard || std::ranges::all_of(slot.inside, is_absent)) {
    return;
  }
  std::erase_if(slot.inside, is_absent);
  std::erase_if(slot.beside, is_absent);
  slot.evidence = heard->words + (slot.evidence.empty() ? "" : "; ") + slot.evidence;
  slot.counted_by_root = heard->is_all ? heard->words : "";
  for (const std::size_t at : members) {
    if (heard->is_all && !is_absent(at) && !std::ranges::binary_search(slot.inside, at)) {
      slot.beside.push_back(at);
    }
  }
}

// Returns a slot with no rank inside if the communicator shows nothing.
Slot launched_slot(const JobView& view, const RasCommunicatorView& communicator) {
  Slot slot;
  for (std::size_t i = 0; i < communicator.members.size(); ++i) {
    const std::size_t at = view.index_of(communicator.members[i].rank);
    if (at == JobView::kNone) {
      return {};
    }
    const RankView& rank = view.rank(at);
    const bool still = rank.decider != nullptr && rank.motion.still();
    if (std::ranges::find(communicator.behind, i) != communicator.behind.end()) {
      slot.absent.push_back(at);
    } else if (still && rank.decider->call) {
      slot.beside.push_back(at);
    } else if (still && rank.decider->wait.on == snapshot::WaitOn::kDevice) {
      slot.inside.push_back(at);
    } else {
      return {};
    }
  }
  for (auto* ranks : {&slot.inside, &slot.beside, &slot.absent}) {
    std::ranges::sort(*ranks);
  }
  slot.group = "communicator " + communicator.hash;
  slot.op = snapshot::kRasOperationNames[communicator.operation];
  slot.words = fmt::format("{} in {}", slot.op, slot.group);
  slot.evidence = launch_words(communicator);
  slot.membership = Membership::kKnown;
  return slot;
}

// Returns a slot for each communicator whose counts (ras_job.h) show that some ranks have launched
// more than other members, and now wait for their devices: a call that is on no stack. It is not
// known what they wait for if a member that has launched the call does not wait or is not in the
// job, or if the counts moved or were read only once.
std::vector<Slot> launched_slots(const JobView& view) {
  std::vector<Slot> slots;
  for (const RasCommunicatorView& communicator : view_ras(view)) {
    if (communicator.counts_differ() && communicator.stood_still()) {
      Slot slot = launched_slot(view, communicator);
      if (!slot.inside.empty()) {
        slots.push_back(std::move(slot));
      }
    }
  }
  return slots;
}

// Returns a slot for each call, also sends and receives, in which ranks wait that are known only by
// their recorder. A rank may be in several. Members that may or may not have made the call, as far
// as recorders tell, are not awaited.
std::vector<Slot> recorded_slots(const JobView& view) {
  std::vector<Slot> slots;
  if (!view.only_recorded()) {
    return slots;
  }
  for (const FlightWait& wait : view.flight()->waits) {
    const FlightMembers& group = view.flight()->job.groups[wait.group];
    Slot& slot = slots.emplace_back();
    slot.kind = wait.kind;
    slot.group = group.words();
    slot.op = wait.op;
    slot.sequence = wait.sequence;
    slot.words = wait.on;
    slot.evidence = wait.evidence;
    slot.inside = view.indices_of(wait.waiters);
    slot.absent = view.indices_of(wait.absent);
    for (const FlightTrack& track : group.tracks) {
      const bool came = wait.sequence >= 0 && track.enqueued >= wait.sequence;
      if (came && !std::ranges::binary_search(wait.waiters, track.rank)) {
        slot.beside.push_back(view.index_of(track.rank));
      }
    }
    slot.membership = !slot.absent.empty()    ? Membership::kKnown
                      : !wait.unknown.empty() ? Membership::kUnknown
                      : group.ranks_recorded  ? Membership::kKnown
                                              : Membership::kAssumed;
  }
  return slots;
}

void find_unclear(const JobView& view, std::vector<Slot>& slots) {
  std::vector<const Slot*> slot_of(view.ranks().size(), nullptr);
  for (const Slot& slot : slots) {
    for (const std::size_t at : slot.inside) {
      slot_of[at] = &slot;
    }
  }
  for (Slot& slot : slots) {
    const auto is_unclear = [&](std::size_t at) {
      return slot_of[at] != nullptr && may_be_same(slot, *slot_of[at]);
    };
    std::ranges::copy_if(slot.absent, std::back_inserter(slot.unclear), is_unclear);
    std::erase_if(slot.absent, is_unclear);
  }
}

}  // namespace

bool is_clear(const Slot& slot) {
  return slot.unclear.empty() && !slot.mixed;
}

bool lets_some_leave(const Slot& slot) {
  return root_gives(slot) || root_takes(slot) || waits_for_some(slot);
}

bool may_be_over_for_some(const Slot& slot) {
  return lets_some_leave(slot) && slot.sequence < 0 && slot.absent.size() > 1;
}

bool begins_again(const JobView& view, const Slot& slot) {
  const auto group_of = [&view](std::size_t at) -> const snapshot::ProcessGroup* {
    const auto* process = view.rank(at).process;
    return process == nullptr ? nullptr : snapshot::default_group_of(process->groups);
  };
  const auto has_made_calls = [&](std::size_t at) {
    const snapshot::ProcessGroup* group = group_of(at);
    return group != nullptr &&
           std::ranges::any_of(group->counters, [](const snapshot::GroupCounter& counter) {
             return counter.collectives > 0;
           });
  };
  return slot.kind == CallKind::kRendezvous && slot.group == "world" && !slot.absent.empty() &&
         std::ranges::all_of(slot.absent, has_made_calls) &&
         std::ranges::all_of(slot.inside, [&](std::size_t at) { return group_of(at) == nullptr; });
}

bool has_root_inside(const JobView& view, const Slot& slot) {
  return slot.root >= 0 &&
         std::ranges::any_of(slot.inside, [&](auto at) { return view.rank(at).rank == slot.root; });
}

bool wait_for_giver(const JobView& view, const Slot& slot) {
  return root_gives(slot) && !has_root_inside(view, slot);
}

bool may_have_left(const Slot& slot, std::int32_t rank) {
  if (slot.absent.size() < 2) {
    return false;
  }
  const bool is_root = rank == slot.root;
  return slot.root < 0 ? lets_some_leave(slot)
                       : (root_gives(slot) && is_root) || (root_takes(slot) && !is_root);
}

bool takes_part(const RankView& rank) {
  if (rank.decider == nullptr || !rank.decider->call || rank.presence == Presence::kDead ||
      rank.crashed()) {
    return false;
  }
  const char state = rank.state();
  if (snapshot::is_stopped_state(state)) {
    return !rank.stays_stopped();
  }
  // A rank that is frozen by its cgroup waits for a signal, whatever its state letter.
  return rank.decider->wait.on != snapshot::WaitOn::kSignal && state != 'D' && state != 'Z' &&
         state != 'X';
}

namespace {

// Returns the slots of the calls that ranks are in, each with the ranks inside.
std::vector<Slot> slots_of_calls(const JobView& view) {
  std::map<std::tuple<CallKind, std::string, std::string, std::int64_t>, Slot> by_key;
  // Finds the slots of identical calls: names of large groups are long.
  std::map<std::tuple<CallKind, bool, StringId, StringId, StringId, std::int64_t>, Slot*> seen;
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    const RankView& rank = view.rank(at);
    if (!takes_part(rank) || is_transfer(*rank.decider->call)) {
      continue;
    }
    const CollectiveCall& call = *rank.decider->call;
    Slot*& known =
        seen[{call.kind, call.whole_world, call.group, call.members, call.op, call.sequence}];
    if (known != nullptr) {
      known->inside.push_back(at);
      continue;
    }
    const std::string group = group_key(view, call);
    // The stages of one initialisation have many names, but are one wait.
    const std::string op = call.kind == CallKind::kRendezvous ? std::string("rendezvous")
                                                              : printable(view.text(call.op), 60);
    Slot& slot = by_key[{call.kind, group, op, call.sequence}];
    if (slot.inside.empty()) {
      slot.kind = call.kind;
      slot.group = group;
      slot.op = op;
      slot.sequence = call.sequence;
      slot.root = call.root;
      slot.words = call_words(view, call);
      slot.evidence = printable(view.text(call.evidence), 200);
      slot.of_lighthouse = snapshot::is_of_replicas(view.text(call.group));
    }
    slot.inside.push_back(at);
    known = &slot;
  }
  std::vector<Slot> slots;
  slots.reserve(by_key.size());
  for (auto& [key, slot] : by_key) {
    slots.push_back(std::move(slot));
  }
  return slots;
}

// Finds who belongs to the call, and who of them is not in it.
void settle_members(const JobView& view, Slot& slot) {
  const std::vector<std::size_t> members = members_of(view, slot);
  ask_root(view, members, slot);
  if (members.empty()) {
    return;
  }
  // A rendezvous includes the whole world, or replica, by rule, not by evidence.
  const RankView& first = view.rank(slot.inside.front());
  const bool of_replica = first.process->replica != StringId{};
  const bool guessed = slot.kind == CallKind::kRendezvous &&
                       (slot.group == "world" || (of_replica && !slot.of_lighthouse)) &&
                       !first.decider->call->whole_world && slot.counted_by_root.empty();
  slot.membership = guessed ? Membership::kAssumed : Membership::kKnown;
  fill_absent(members, slot);
  drop_done(view, slot);
  slot.wants_some = wants_some_replicas(view, slot);
}

}  // namespace

std::vector<Slot> find_slots(const JobView& view) {
  std::vector<Slot> slots = slots_of_calls(view);
  split_by_root(view, slots);
  for (Slot& slot : slots) {
    drop_connecting(view, slot);
  }
  add_beside(view, slots);
  for (Slot& slot : slots) {
    settle_members(view, slot);
  }
  assume_world(view, slots);
  find_unclear(view, slots);
  for (Slot& slot : slots) {
    slot.mixed = is_of_several_calls(view, slot);
  }
  std::ranges::move(launched_slots(view), std::back_inserter(slots));
  std::ranges::move(recorded_slots(view), std::back_inserter(slots));
  std::ranges::stable_sort(
      slots, [](const Slot& a, const Slot& b) { return a.inside.size() > b.inside.size(); });
  return slots;
}

}  // namespace oddrank::aggregate
