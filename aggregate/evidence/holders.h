// The holders of a thread's wait, as its own facts say: a thread of its process, another process,
// one of several. Calls of communication libraries are left to slots.h.
#pragma once

#include <cstdint>

#include "aggregate/solver/wait_net.h"
#include "aggregate/view/job_view.h"
#include "base/small/slim_vector.h"

namespace oddrank::aggregate {

// How a fact is known, from the weakest on.
enum class HowKnown : std::uint8_t {
  kText = 0,   // only a name says so: a key, a file, a line of a log
  kExclusion,  // no other holder is left
  kFrames,     // frames show it
  kMemory,     // objects in memory, or a recorder
  kKernel,
};

struct Holder {
  const snapshot::ProcessCapture* process = nullptr;
  const snapshot::ThreadCapture* thread = nullptr;  // only if it is in the waiter's process
};

struct Holders {
  SlimVector<Holder> who;
  Join join = Join::kAll;
  HowKnown how = HowKnown::kKernel;
  bool others = false;  // an unknown holder may hold it as well
  // As far as the kernel tells, each of them has sent something since the thread last sent to it,
  // so it is the thread's turn.
  bool have_sent = false;
  std::size_t alike = 0;  // further workers of a pool that may hold it, beyond those listed
};

// Returns none if the wait names no holder, or if the thread is in a call.
Holders holders_of(const JobView& view,
                   const snapshot::ProcessCapture& process,
                   const snapshot::ThreadCapture& thread);

}  // namespace oddrank::aggregate
