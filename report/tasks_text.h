// The asyncio tasks of a process, for `oddrank node PID --tasks`.
#pragma once

#include <string>

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"
#include "report/style.h"

namespace oddrank::report {

// Returns what each task waits for, with its frames; "" if none was read.
std::string tasks_text(const aggregate::JobView& view,
                       const snapshot::ProcessCapture& process,
                       const Style& style);

// Returns "waits for task \"load\"", "waits for <Future>", "waits for tasks \"load\", \"save\"",
// "runs", or "has not started".
std::string task_words(const aggregate::JobView& view, const snapshot::AsyncTask& task);

}  // namespace oddrank::report
