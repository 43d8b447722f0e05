// Slots: the collectives that ranks are inside of, each with who is in it and who is not.
//
// A slot is (group, operation, sequence number). Ranks of one group that are in the same operation,
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
  kUnknown = 0,  // nobody in particular is waited for
  kAssumed,      // no evidence for the group; all waiting ranks are in this one call
  kKnown,
};

struct Slot {
  snapshot::CallKind kind = snapshot::CallKind::kCollective;  // collective or rendezvous
  std::string group;  // "world", the group's name, or its members; "" = unknown
  std::string op;
  std::int64_t sequence = -1;
  std::int32_t root = -1;  // global rank, of an operation that has one; -1 = unknown
  std::string words;       // "all_reduce in default group"
  std::string evidence;    // of one of those inside
  Membership membership = Membership::kUnknown;
  std::vector<std::size_t> inside;  // indices of JobView::ranks()
  std::vector<std::size_t> absent;  // members that are not inside; empty if membership is unknown
  // Members in a call of the same operation of which the group or the number could not be read: it
  // may be this one. They are not counted as absent.
  std::vector<std::size_t> unclear;
};

// A rank that is stopped, frozen, dead or in state D is not counted as inside of the call that its
// frames show: it will not take part. Sorted by number of ranks inside, largest first.
std::vector<Slot> find_slots(const JobView& view);

// Some operations let a member go as soon as it has done its part: the root of a broadcast, the
// others of a reduce. That such a one is absent may mean that it has been there; where it is the
// only one, it must be the one that is missing.
bool may_have_left(const Slot& slot, std::int32_t rank);

// It is inside of a call and can take part in it.
bool takes_part(const RankView& rank);

}  // namespace oddrank::aggregate
