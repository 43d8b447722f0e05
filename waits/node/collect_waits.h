// Reads what each thread of one process is blocked on, while the target is open. Waits between the
// processes of a node are joined later (join_node.h).
#pragma once

#include <optional>
#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/capture.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::waits {

// Fills ThreadCapture::wait of every thread: system call, wchan, file descriptor and its path; and
// names the tracer of its last sample. Call after collect_stacks, on the same target; `states` and
// `python` are what it returned. Never blocks on the target's files: paths are read as links,
// nothing is stat'ed or opened.
void collect_waits(const attach::Target& target,
                   const std::vector<attach::ThreadState>& states,
                   std::optional<cpython::PythonSample>& python,
                   snapshot::Tables& tables,
                   snapshot::ProcessCapture& process);

// Does the same for a core file, from registers and memory. Does not read /proc, where other
// processes may have these pids by now.
void collect_core_waits(const attach::Target& target,
                        const std::vector<attach::ThreadState>& states,
                        std::optional<cpython::PythonSample>& python,
                        snapshot::Tables& tables,
                        snapshot::ProcessCapture& process);

}  // namespace oddrank::waits
