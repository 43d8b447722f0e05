// What was read of one thread, in one sample or several.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot/collective_call.h"
#include "snapshot/ids.h"
#include "snapshot/loops/python_loop.h"
#include "snapshot/wait.h"

namespace oddrank::snapshot {

// One sample of the thread. The kernel's counters count from the thread's start.
struct ThreadSample {
  StackId stack{};           // merged, or native if the merge failed
  StackId python_stack{};    // only if stack's merge is kMismatch
  char state = '?';          // letter of /proc/TID/stat: R S D T t Z X I
  std::uint64_t cpu_us = 0;  // user + system time
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  // It has run and advanced since the previous sample, though it is in the same functions: locals
  // of its Python frames differ, or the other sides of its transfer (snapshot/locals_change.h).
  bool locals_changed = false;
  // It was stopped to be read, and released at once; a sleeping thread then wakes twice.
  bool stopped = false;
  pid_t tracer =
      0;  // the process that traces it, in the agent's pid namespace; 0 = none or unknown
  StringId tracer_name{};  // comm of that process

  bool operator==(const ThreadSample&) const = default;
};

// Returns whether the kernel has counted anything of the thread between two samples.
inline bool has_run_between(const ThreadSample& a, const ThreadSample& b) {
  return a.voluntary_switches != b.voluntary_switches ||
         a.involuntary_switches != b.involuntary_switches || a.cpu_us != b.cpu_us;
}

struct Local {
  StringId name{};
  StringId value{};  // as text, cut and masked: "1207", "None", "<Tensor>", "'train'"

  bool operator==(const Local&) const = default;
};

// Scalar locals of one Python frame of the last sample.
struct FrameLocals {
  std::uint32_t frame = 0;  // index into the frames of the last sample's (python_)stack
  std::vector<Local> locals;

  bool operator==(const FrameLocals&) const = default;
};

struct ThreadCapture {
  pid_t tid = 0;           // in the agent's pid namespace
  StringId name{};         // of the OS (comm)
  StringId python_name{};  // of threading.Thread; empty if none or unknown
  bool has_python = false;
  bool holds_gil = false;
  bool wants_gil = false;
  // The GIL that it holds or wants, if any: the id of the first interpreter that uses it. 0 is the
  // main interpreter's, the only one before 3.12.
  std::int64_t gil = 0;
  // What the interpreter does in this thread, in the last sample. False also if unknown.
  bool collects_garbage = false;
  // The generation that is collected by some thread of its interpreter; -1 = none, or unknown.
  std::int8_t gc_generation = -1;
  bool ends_interpreter = false;       // it shuts the interpreter down
  std::vector<ThreadSample> samples;   // oldest first; at least one
  Wait wait;                           // of the last sample
  std::optional<CollectiveCall> call;  // of the last sample
  std::vector<FrameLocals> locals;
  // Loops around the current instructions of the innermost Python frames of the last sample:
  // innermost first; at most kMaxNestedLoops of nested loops (cpython/bytecode/loops.h).
  std::vector<PythonLoop> loops;

  bool operator==(const ThreadCapture&) const = default;
};

}  // namespace oddrank::snapshot
