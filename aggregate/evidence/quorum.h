// The quorum of torchft: before each step, replicas meet at a lighthouse, which lets them go when
// enough have come. No process knows which replicas there should be; the lighthouse knows how many
// must come at least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/evidence/slots.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns the index of the lighthouse that decides about the slot; JobView::kNone if it was not
// read.
std::size_t lighthouse_of(const JobView& view, const Slot& slot);

struct WaitingQuorum {
  const Slot* slot = nullptr;
  std::size_t come = 0;      // replicas
  std::size_t least = 0;     // that must come
  std::int64_t wait_ms = 0;  // of the replica that came first
};

// Returns a quorum at a lighthouse that was read and works, if all replicas that were found have
// come to it and these are fewer than must come; nullopt if there is none.
//
// Source: --min_replicas of torchft_lighthouse, torchft 0.2.
std::optional<WaitingQuorum> waiting_quorum(const JobView& view, const std::vector<Slot>& slots);

// Returns "rank 0 (replica 0, n0, pid 7) has waited for 5.4 s in quorum in group lighthouse
// n0:29510, to which 1 of at least 2 replicas has come".
std::string quorum_words(const JobView& view, const WaitingQuorum& quorum);

}  // namespace oddrank::aggregate
