// Asks a rank for a dump of its flight recorder, where it was started so that it can be asked:
// PyTorch's control plane on a local socket (TORCH_WORKER_SERVER_SOCKET), or the pipe whose every
// byte makes it write its dump (TORCH_NCCL_DEBUG_INFO_PIPE_FILE and its newer names). Both are
// made for this and leave the job as it is; neither is there unless the job was set up for it.
//
// Never done: the store's key "exception_dump", which also makes all ranks dump, and which their
// monitors then take for a failure.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::node {

// What the handler (such as "fr_trace_json") of the control plane at `path` answers, where `path`
// is seen from the process. kNotFound: there is no socket, or it has no such handler.
Result<std::string> ask_worker(pid_t pid,
                               const std::string& path,
                               const std::string& handler,
                               const Deadline& deadline);

// Writes one byte into the pipe at `path`. kNotFound: there is none, or nobody reads it;
// kUnsupported: it is no pipe, and was left alone.
Status poke_pipe(pid_t pid, const std::string& path);

}  // namespace oddrank::node
