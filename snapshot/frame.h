// One frame of a stack, native or Python, as read.
//
// A stack: frames innermost first, and the reason why it ends.
#pragma once

#include <cstdint>
#include <vector>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

enum class FrameKind : std::uint8_t { kNative = 0, kPython = 1 };

// Bits of Frame::flags.
enum FrameFlag : std::uint8_t {
  kHeuristic = 1,    // found by frame pointer, or by a word that looks like a return address
  kEvaluation = 2,   // native: the CPython evaluation loop (its Python frames are inside it)
  kEntry = 4,        // Python: the innermost evaluation loop was entered for this frame
  kSignalFrame = 8,  // native: the kernel's signal trampoline
  kInlined = 16,  // native: from DWARF, no return address of its own; inlined into the next frame
};

struct Frame {
  FrameKind kind = FrameKind::kNative;
  std::uint8_t flags = 0;
  // Python: qualified name (3.11+) or name. Native: symbol as in the file (mangled, version and
  // clone suffixes such as ".cold" trimmed); empty if there is none: print module+offset.
  StringId function{};
  // Python: co_filename. Native: path of the module as the target's maps name it, "[vdso]", or
  // empty for anonymous memory (JIT).
  StringId file{};
  StringId build_id{};     // native: of the module, lower-case hex; empty if it has none
  std::uint32_t line = 0;  // 0 = unknown; native: only if DWARF was requested
  // Native: pc as an address of the module's file (pc minus load bias), the call's return address
  // for outer frames; absolute pc if there is no module. Python: 0.
  std::uint64_t offset = 0;
  StringId source{};  // native: file of `line`, as in DWARF; empty if unknown

  bool operator==(const Frame&) const = default;
};

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
