// Runs work that may never return in a forked child with a deadline.
//
// Reading a process in state D (its maps, environ, memory) can block the reader in the kernel,
// where no signal reaches it. So all code that touches a target runs in a child of ours; the parent
// only reads a pipe. A child that misses its deadline is killed and abandoned: its output so far
// counts, and the kernel ends its ptrace attachments when it dies. What a target or a file contains
// is foreign, so a child may do no more than its task needs (confine.h).
//
// Precondition: the caller has one thread only (it forks without exec).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/confine.h"

namespace oddrank {

struct IsolatedTask {
  // Runs in the child; writes results to `fd` as they come. The child calls _exit right after it
  // returns: no destructors of the parent's objects, no atexit handlers.
  std::function<void(int fd)> run;
  std::chrono::milliseconds timeout{20000};
  // What the child may do besides reading (confine.h).
  Freedom may{};
};

enum class IsolatedEnd {
  kFinished,  // exit status 0
  kDeadline,  // killed by us, or unkillable and abandoned
  kCrashed,   // ended by a signal or with another status
  kNoMemory,  // needed more than Freedom::memory
  kNotRun,    // fork or pipe failed
};

struct IsolatedResult {
  IsolatedEnd end = IsolatedEnd::kNotRun;
  int signal = 0;     // that ended it, 0 if none
  std::string bytes;  // all that it sent, even if it did not finish
  std::chrono::microseconds took{0};
};

// Runs all tasks, started in order, at most `at_once` at a time; returns results in the order of
// the tasks. Kills a child that sends more than `byte_limit` (kCrashed). Blocks no longer than the
// tasks' timeouts; time in which the caller itself was stopped (a paused machine, a stopped job)
// does not count. Leaves no zombie behind, except of a child in state D.
std::vector<IsolatedResult> run_isolated(const std::vector<IsolatedTask>& tasks,
                                         std::size_t at_once,
                                         std::size_t byte_limit = std::size_t{64} << 20);

// Sends all of `bytes`, even if a signal interrupts it; for use in `run`. Returns false if the
// parent is gone.
bool send_bytes(int fd, const std::string& bytes);

}  // namespace oddrank
