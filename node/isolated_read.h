// Readers of processes in children (base/isolated.h): how many there are, which processes share
// one, and what a child sends to its parent: a capture or an Error.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/isolated.h"
#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Returns how many readers run at once, from 2 to 4: one that waits must not stop the others, and
// the job needs the cores.
std::size_t readers_at_once();

// Returns IsolatedTask::owner for a process: its user. Processes of unknown or changed users get a
// child each.
std::uint64_t reading_owner(pid_t pid);

// Sends the capture, or the Error (in the child).
void send_capture(int fd, const Result<snapshot::Capture>& capture);

// Sends a capture of one process. Leaves out tasks that would make it too large to be received; the
// process's `why` says how many.
void send_process(int fd, Result<snapshot::Capture> capture);

// Returns the capture or the Error that the child sent (in the parent). If it sent neither, an
// Error says how the child ended (kTimeout: "did not answer in 20 s", with the file that held it
// up, if any; kIo: "the reader was ended by signal 11") or that the capture is incomplete (kIo).
Result<snapshot::Capture> received_capture(const IsolatedResult& result);

// Adds "no time was left for the dumps of 12 ranks" (`what`: "the dumps") if so many of these
// tasks, one a rank, got none.
void note_no_time(const std::vector<IsolatedResult>& results,
                  std::string_view what,
                  std::vector<std::string>& notes);

}  // namespace oddrank::node
