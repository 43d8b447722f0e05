// Starts a watcher beside a command, not around it.
//
// The started process itself becomes the command (exec in place), so that pid, parent, signals,
// exit status, core dumps and job control are exactly the command's own: there is no process in
// between that has to pass them on and could harm the command by dying. The watcher is its orphaned
// grandchild: in a session of its own, with stdin and stdout on /dev/null, on the caller's stderr
// (the job's log), with lower priority, first to be killed if memory runs out, and named
// "oddrank-watch". It holds a pidfd that it opened before the command started, and exits when the
// command does.
//
// Yama: with ptrace_scope=1 only ancestors may read a process. The watcher's readers are its forked
// children, so being the parent would not help them. Instead the process names the watcher as its
// ptracer (PR_SET_PTRACER), which covers all descendants of the watcher and survives exec. It does
// not cover processes that the command forks: loader workers stay unreadable under scope 1.
//
// If the command is PID 1 of a container, or a subreaper, the watcher becomes its child.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace oddrank::watch {

// The command that a watcher runs beside.
struct BesideCommand {
  pid_t pid = 0;
  UniqueFd end;  // becomes readable when it exits; invalid before Linux 5.3, see has_ended()
};

// Returns twice: in the watcher, with the command to watch; and, once the watcher is ready, with
// nothing in the process that becomes the command. If the watcher does not start within 10 s,
// prints that on stderr and returns anyway: the command must run. Precondition: one thread.
std::optional<BesideCommand> split_off_watcher();

// Becomes the command; argv ends with a null pointer. Restores the disposition of SIGPIPE. Returns
// only on failure, with the exit status that shells use: 127 not found, 126 other.
int become_command(char** argv, bool ignored_broken_pipe);

// Returns true if the process has exited. Never blocks.
bool has_ended(const BesideCommand& command);

}  // namespace oddrank::watch
