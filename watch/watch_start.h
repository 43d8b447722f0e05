// A watcher beside a command, and not around it.
//
// The process that was started becomes the command (exec in its own place), so that pid, parent,
// signals, exit status, core dumps and job control are exactly the command's own; there is nobody
// in between who would have to pass them on, and nobody whose death could harm it. The watcher is
// its orphaned grandchild: in a session of its own, with stdin and stdout on /dev/null, on the
// caller's stderr (the job's log), with lower priority, the first to go if memory runs out, and
// called "oddrank-watch". It knows the command by a pidfd that it opened before the command began,
// and ends with it.
//
// Yama: with ptrace_scope=1 only ancestors may read a process. The watcher's readers are its forked
// children, so that being the parent would not help them; instead the process names the watcher
// as its ptracer (PR_SET_PTRACER), which holds for all descendants of the watcher and stays through
// exec. It does not hold for what the command forks: loader workers stay unreadable under scope 1.
//
// Where the command is process 1 of a container, or a subreaper, the watcher becomes its child.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace oddrank::watch {

// What the watcher knows of the process beside it.
struct BesideCommand {
  pid_t pid = 0;
  UniqueFd end;  // becomes readable when it ends; invalid before Linux 5.3, see has_ended()
};

// Returns twice: in the watcher with what it watches, in the process that is to become the command
// with nothing, when the watcher is ready (or could not be started within 10 s: said on stderr, and
// no reason not to run the command). Precondition: one thread.
std::optional<BesideCommand> split_off_watcher();

// Becomes the command; argv ends with a null pointer. Gives SIGPIPE back the disposition that
// it had. Returns only on failure, with the exit status that shells use: 127 not found, 126 other.
int become_command(char** argv, bool ignored_broken_pipe);

// Whether the process has ended. Never blocks.
bool has_ended(const BesideCommand& command);

}  // namespace oddrank::watch
