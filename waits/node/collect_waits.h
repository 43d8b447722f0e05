// What each thread of a process is blocked on. The first half is read from the target while it is
// at hand; the second joins processes of a node by what they share, on plain data.
#pragma once

#include <optional>
#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/capture.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::waits {

// Fills ThreadCapture::wait of every thread: system call, wchan, file descriptor and its path. Call
// after collect_stacks, on the same target; `states` and `python` are what that returned. Never
// blocks on the target's files: paths are read as links, nothing is stat'ed or opened.
void collect_waits(const attach::Target& target,
                   const std::vector<attach::ThreadState>& states,
                   std::optional<cpython::PythonSample>& python,
                   snapshot::Tables& tables,
                   snapshot::ProcessCapture& process);

// The same for a core file: what registers and memory tell. /proc is not asked, where other
// processes may have these numbers by now.
void collect_core_waits(const attach::Target& target,
                        const std::vector<attach::ThreadState>& states,
                        std::optional<cpython::PythonSample>& python,
                        snapshot::Tables& tables,
                        snapshot::ProcessCapture& process);

}  // namespace oddrank::waits
