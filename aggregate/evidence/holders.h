// The holders of a thread's wait, as its own facts say: a thread of its process, another process,
// one of several. Calls of communication libraries are not looked at here (slots.h), nor what a
// wait tells in words.
#pragma once

#include <cstdint>

#include "aggregate/solver/wait_net.h"
#include "aggregate/view/job_view.h"
#include "base/small/slim_vector.h"

namespace oddrank::aggregate {

// How a fact is known, from the weakest on.
enum class HowKnown : std::uint8_t {
  kText = 0,   // it is named, no more: a key, a file, a line of a log
  kExclusion,  // nobody else is left
  kFrames,     // frames show it
  kMemory,     // objects in memory, or a recorder
  kKernel,
};

struct Holder {
  const snapshot::ProcessCapture* process = nullptr;
  const snapshot::ThreadCapture* thread = nullptr;  // of the same process only; else null
};

struct Holders {
  SlimVector<Holder> who;
  Join join = Join::kAll;
  HowKnown how = HowKnown::kKernel;
  bool others = false;  // somebody else may hold it as well, who is not known
  // Each of them has sent something since the thread last sent to it, as far as the kernel tells:
  // it is the thread's own turn.
  bool have_sent = false;
  std::size_t alike = 0;  // further workers of a pool that may be meant, beyond those listed
};

// Returns nobody if the wait names nobody, or if the thread is in a call.
Holders holders_of(const JobView& view,
                   const snapshot::ProcessCapture& process,
                   const snapshot::ThreadCapture& thread);

}  // namespace oddrank::aggregate
