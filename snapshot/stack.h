// A stack: frames innermost first, and the reason why it ends.
#pragma once

#include <cstdint>
#include <vector>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

enum class StackEnd : std::uint8_t {
  kUnknown = 0,
  kComplete,      // ends at the thread's start (undefined return address, _start, clone)
  kNoUnwindInfo,  // no table describes the next step; the frames so far are good
  kBadMemory,     // stack memory could not be read
  kLimit,         // longer than the bound; cut
  kRunning,       // the thread ran: no registers without a stop, Python frames only
  kGone,          // the thread exited while it was read
  kTorn,          // the thread moved while it was read; frames may be from two instants
  kRunningTorn,   // as kRunning, and the Python frames may be from different instants
};

enum class MergeState : std::uint8_t {
  kNativeOnly = 0,  // the thread has no Python state
  kPythonOnly,      // no native frames could be read
  kMerged,          // one stack in call order
  kMismatch,        // they do not match: native here, Python in ThreadSample::python_stack
};

struct Stack {
  std::vector<FrameId> frames;
  StackEnd end = StackEnd::kUnknown;
  MergeState merge = MergeState::kNativeOnly;

  bool operator==(const Stack&) const = default;
};

}  // namespace oddrank::snapshot
