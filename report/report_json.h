// The report for programs: format 1 of docs/json.md. Fields are only ever added within a format
// number.
#pragma once

#include <cstddef>
#include <string>

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"
#include "snapshot/capture.h"

namespace oddrank::report {

inline constexpr int kJsonFormat = 1;

// If the job has more threads than this, each rank has only their number ("threads_left_out"): the
// stacks of millions of threads would take gigabytes. The report of one node's capture lists them.
inline constexpr std::size_t kMaxListedThreads = std::size_t{1} << 14;
// The same applies if threads and tasks, with their frames and variables, make more objects than
// kMaxListedObjects. A process lists threads and tasks with at most kMaxListedOfProcess objects,
// and counts the others ("threads_left_out", "tasks_left_out").
inline constexpr std::size_t kMaxListedObjects = 80'000;
inline constexpr std::size_t kMaxListedOfProcess = 8'000;
// With more objects than this, each rank takes one line.
inline constexpr std::size_t kMaxIndentedObjects = 16'000;

// Returns indented, valid UTF-8 that ends with a newline. `view`, `capture`: those that the report
// was made from.
std::string report_json(const aggregate::Diagnosis& report, const aggregate::JobView& view);
std::string report_json(const aggregate::Diagnosis& report, const snapshot::Capture& capture);

}  // namespace oddrank::report
