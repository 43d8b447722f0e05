// Slots: the collectives that ranks are inside, each with its ranks inside and absent.
//
// A slot is (group, operation, sequence number, root). Ranks of one group in the same operation,
// with no numbers known, are taken to be in the same slot (equal lines in different iterations
// cannot be told apart without numbers; verdicts that rest on this say so).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"
#include "snapshot/collective_call.h"

namespace oddrank::aggregate {

enum class Membership : std::uint8_t {
  kUnknown = 0,  // no particular rank is awaited
  kAssumed,      // no evidence for the group; all waiting ranks are in this one call
  kKnown,
};

struct Slot {
  // A collective or rendezvous; if known from a recorder, also a send or receive.
  snapshot::CallKind kind = snapshot::CallKind::kCollective;
  std::string group;  // "world", the group's name, or its members; "" = unknown
  std::string op;
  std::int64_t sequence = -1;
  std::int32_t root = -1;  // global rank, if the operation has one; -1 = unknown
  std::string words;       // "all_reduce in default group"
  std::string evidence;    // of one of the ranks inside
  Membership membership = Membership::kUnknown;
  // Indices of JobView::ranks(). Each is in a call, except in slots of NCCL's counts
  // (sources/ras_job.h) and of recorders alone (Presence::kRecorded).
  std::vector<std::size_t> inside;
  // These do not hold the others up either: a thread beside the deciding one is in the call, or the
  // group's count shows that the rank has already made it.
  std::vector<std::size_t> beside;
  std::vector<std::size_t> absent;  // members that are not inside; empty if membership is unknown
  // The ranks inside may be in different calls: the operation could not be read and they are at
  // different places of the program, or the number is unknown and they have given different roots.
  bool mixed = false;
  // torchft's lighthouse chooses the members: this is a quorum, or a collective of the members of
  // the last one. `wants_some`: ranks of several replicas are absent, and any of these may be
  // needed.
  bool of_lighthouse = false;
  bool wants_some = false;
  // Members in a call of the same operation whose group or number could not be read: it may be this
  // call. They are not counted as absent.
  std::vector<std::size_t> unclear;
  // What NCCL's bootstrap root has noted, if it has heard of all members but those that are absent;
  // empty otherwise.
  std::string counted_by_root;
};

// Finds all slots, sorted by number of ranks inside, largest first. A rank that is stopped, frozen,
// dead or in state D does not count as inside the call that its frames show: it will not take part.
std::vector<Slot> find_slots(const JobView& view);

// Returns whether all ranks inside are in one call, and no other rank may be in it: neither `mixed`
// nor any `unclear`.
bool is_clear(const Slot& slot);

// Returns whether some members may leave the call before others have entered it: one member gives
// to the others or takes from them, or each waits for only some of the others.
bool lets_some_leave(const Slot& slot);

// Returns whether members that are not in this call may have done their part in it, while those
// inside wait for another member. Numbers would tell.
bool may_be_over_for_some(const Slot& slot);

// Returns whether the slot is the making of a default group that all absent members already have
// and have made calls in, and those inside have not: the absent ones will not come again. The ranks
// inside run a program that has executed itself anew, or expect more ranks than there are.
bool begins_again(const JobView& view, const Slot& slot);

// Returns whether the root of the call is known, and has entered it.
bool has_root_inside(const JobView& view, const Slot& slot);

// Returns whether those inside get something from another member, as far as is known.
bool wait_for_giver(const JobView& view, const Slot& slot);

// Returns whether possibly no member inside waits for this one: it may have done its part and left,
// like the root of a broadcast or a non-root of a reduce, or it may not concern those inside. If
// only one member is absent, it is the missing one.
bool may_have_left(const Slot& slot, std::int32_t rank);

// Returns whether it is a send or a receive.
constexpr bool is_transfer(snapshot::CallKind kind) {
  return kind == snapshot::CallKind::kSend || kind == snapshot::CallKind::kRecv;
}
// Returns the same for a call.
inline bool is_transfer(const snapshot::CollectiveCall& call) {
  return is_transfer(call.kind);
}

// Returns whether the tags of both were read, and differ.
inline bool tags_differ(const snapshot::CollectiveCall& one,
                        const snapshot::CollectiveCall& other) {
  return one.tag >= 0 && other.tag >= 0 && one.tag != other.tag;
}

// Returns whether the rank is inside a call and can take part in it.
bool takes_part(const RankView& rank);

}  // namespace oddrank::aggregate
