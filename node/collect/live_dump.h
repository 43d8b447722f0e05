// Requests a dump of its flight recorder from a rank, if it was started with one of two interfaces:
// PyTorch's control plane on a local socket (TORCH_WORKER_SERVER_SOCKET), or a pipe, which makes it
// write a dump for each byte (TORCH_NCCL_DEBUG_INFO_PIPE_FILE and its newer names). Both exist for
// this purpose and leave the job undisturbed; neither exists unless the job enabled it.
//
// The store's key "exception_dump" is never set: it makes all ranks dump as well, but their
// monitors treat it as a failure.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::node {

// Returns the answer of a handler (such as "fr_trace_json") of the control plane at `path`, as the
// process sees that path. kNotFound: there is no socket, the process itself does not listen there,
// or it has no such handler; kUnsupported: `path` is not a socket; kTimeout; kBadData: the answer
// is not HTTP, or does not end.
Result<std::string> ask_worker(pid_t pid,
                               const std::string& path,
                               const std::string& handler,
                               const Deadline& deadline);

// Writes one byte into the pipe at `path`. kNotFound: there is none, or the process itself does not
// read it; kUnsupported: it is not a pipe. What is not the process's own pipe is left alone.
Status poke_pipe(pid_t pid, const std::string& path);

}  // namespace oddrank::node
