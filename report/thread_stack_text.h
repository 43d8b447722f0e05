// The stack of one thread in the list of a process's threads: frames, the reason why it ends, and,
// on request, the locals of Python frames.
//
// Threads of one process at the same place, listed once: this makes a list of a hundred threads
// readable. Idle threads of pools are separate from threads that work or wait for something.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

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

struct ThreadClass {
  std::vector<const snapshot::ThreadCapture*> threads;  // in the order of the process; never empty
  std::string pool;  // idle: "in epoll_wait (gloo event loop)"; "" = to be shown

  std::vector<std::int32_t> tids() const;
};

// Groups the threads of a process. The main thread, if it was read, is the first class, and alone
// in it. With `all`, every thread is alone; with `locals`, each thread whose local variables were
// read. Idle pools come last, in the order of their words.
std::vector<ThreadClass> classify_threads(const aggregate::JobView& view,
                                          const snapshot::ProcessCapture& process,
                                          bool all,
                                          bool locals = false);

}  // namespace oddrank::report
