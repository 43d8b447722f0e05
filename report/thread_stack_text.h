// The stack of one thread in the list of a process's threads: frames, the reason why it ends, and,
// on request, the locals of Python frames.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"
#include "report/style.h"
#include "report/text_options.h"

namespace oddrank::report {

// Returns lines, the innermost frame first, indented by 4 columns. If native and Python frames were
// not merged, they stand side by side.
std::string thread_stack_text(const aggregate::JobView& view,
                              const snapshot::ThreadCapture& thread,
                              const Style& style,
                              const TextOptions& options);

}  // namespace oddrank::report
