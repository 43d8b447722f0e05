// What was read of one thread, in one sample or several.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/small/boxed.h"
#include "base/small/slim_vector.h"
#include "snapshot/collective_call.h"
#include "snapshot/ids.h"
#include "snapshot/loops/python_loop.h"
#include "snapshot/sample_list.h"
#include "snapshot/wait.h"

namespace oddrank::snapshot {

struct Local {
  StringId name{};
  StringId value{};  // as text, cut and masked: "1207", "None", "<Tensor>", "'train'"

  bool operator==(const Local&) const = default;
};

// Scalar locals of one Python frame of the last sample.
struct FrameLocals {
  std::uint32_t frame = 0;  // index into the frames of the last sample's (python_)stack
  SlimVector<Local> locals;

  bool operator==(const FrameLocals&) const = default;
};

// What a diagnosis asks of every thread stands together: a large job's threads are in no cache.
struct ThreadCapture {
  pid_t tid = 0;           // in the agent's pid namespace
  StringId name{};         // of the OS (comm)
  StringId python_name{};  // of threading.Thread; empty if none or unknown
  bool has_python = false;
  bool holds_gil = false;
  bool wants_gil = false;
  // What the interpreter does in this thread, in the last sample. False also if unknown.
  bool collects_garbage = false;
  // The generation that a thread of its interpreter collects; -1 = none, or unknown.
  std::int8_t gc_generation = -1;
  bool ends_interpreter = false;  // it shuts the interpreter down
  // The GIL that it holds or wants, if any: the id of the first interpreter that uses it. 0 is the
  // main interpreter, the only one with its own GIL before 3.12.
  std::int64_t gil = 0;
  Boxed<CollectiveCall> call;  // of the last sample
  // Loops around the current instructions of the innermost Python frames of the last sample:
  // innermost first; at most kMaxNestedLoops of nested loops (cpython/bytecode/loops.h).
  SlimVector<PythonLoop> loops;
  SlimVector<FrameLocals> locals;
  SampleList samples;  // oldest first; at least one
  Wait wait;           // of the last sample
  // Where the innermost Python frames of the last sample stand, except torch.distributed's own.
  SlimVector<FramePlace> places;

  bool operator==(const ThreadCapture&) const = default;
};

}  // namespace oddrank::snapshot
