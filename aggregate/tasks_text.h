// The asyncio tasks of a process, for `oddrank node PID --tasks`.
#pragma once

#include <string>

#include "aggregate/diagnosis.h"
#include "aggregate/job_view.h"
#include "aggregate/style.h"

namespace oddrank::aggregate {

// What each waits for, with its frames; "" if none was read.
std::string tasks_text(const JobView& view,
                       const snapshot::ProcessCapture& process,
                       const Style& style);

// "waits for task \"load\"", "waits for <Future>", "waits for tasks \"load\", \"save\"", "runs",
// "has not begun".
std::string task_words(const JobView& view, const snapshot::AsyncTask& task);

}  // namespace oddrank::aggregate
