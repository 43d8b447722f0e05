// How a process was ended by a signal, in words, from its core file.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns whether the thread of the process took the signal that ended it.
bool has_crashed(const snapshot::ProcessCapture& process, const snapshot::ThreadCapture& thread);

// Returns the thread that took the signal; nullptr if no signal ended the process, or the thread is
// not among those read.
const snapshot::ThreadCapture* crashed_thread(const snapshot::ProcessCapture& process);

// Returns "SIGSEGV: nothing is mapped at 0x10", "SIGABRT by abort()", "SIGKILL from pid 12".
std::string crash_cause(const snapshot::ProcessCapture& process);

// Returns "Crashed by SIGSEGV: nothing is mapped at 0x10, in strlen (libc.so.6) below string_at
// (ctypes/__init__.py:519), thread 20705 "worker-7"", or "Ended by SIGTERM from pid 12, in ..."; ""
// if no signal ended the process. The innermost frame that is no part of abort() comes first.
std::string crash_words(const JobView& view, const snapshot::ProcessCapture& process);

// Returns the same as a predicate, without the thread: "crashed by SIGSEGV: nothing is mapped at
// 0x10, in strlen (libc.so.6) below string_at (ctypes/__init__.py:519)", or "called abort() in
// ...". Precondition: the process caused the signal itself.
std::string crash_predicate(const JobView& view, const snapshot::ProcessCapture& process);

}  // namespace oddrank::aggregate
