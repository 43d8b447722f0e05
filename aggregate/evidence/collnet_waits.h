// Where the data of CollNet stands: before a GPU, or in the network. Private to proxy_stalls.h.
//
// A step is a call with members: it ends when all heads of the rail have given theirs. A head that
// has not given it waits for its GPU to fill it, or to take results, so that there is room. If all
// have given it, it stands in the network, between all of them: no link is known.
//
// The GPUs of a host fill the steps of all its rails together, by NVLink. So before a GPU is said
// to stand, it must not wait for an earlier step of another rail on its host.
// Source: NCCL, src/transport/coll_net.cc, src/device/all_reduce.h (2.26 to 2.30).
#pragma once

#include "aggregate/evidence/collnet_rails.h"
#include "aggregate/evidence/stall_net.h"

namespace oddrank::aggregate {

// Adds the waits of all rails.
void add_collnet_waits(const CollnetRails& rails, StallNet& net);

}  // namespace oddrank::aggregate
