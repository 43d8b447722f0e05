// Runs work that may never return in a forked child with a deadline.
//
// Reading a process in state D (its maps, environ, memory) can block the reader in the kernel,
// where no signal reaches it. So all code that touches a target runs in a child; the parent only
// reads a pipe. A child that misses its deadline is killed and abandoned: its output so far counts,
// and the kernel ends its ptrace attachments when it dies. It closes our stdout and stderr (except
// stderr with -v), so that no reader waits for it. The bytes of a target or a file are foreign, so
// a child may do no more than its task needs (confine.h).
//
// Precondition: the caller has one thread only (it forks without exec).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/confine.h"

namespace oddrank {

// The owner of a task whose child runs no other task.
inline constexpr std::uint64_t kNoOwner = ~std::uint64_t{0};

struct IsolatedTask {
  // Runs in the child; writes results to `fd` as they come. The child calls _exit after its last
  // one: no destructors of the parent's objects, no atexit handlers.
  std::function<void(int fd)> run;
  std::chrono::milliseconds timeout{20000};
  // What the child may do besides reading (confine.h).
  Freedom may{};
  // The owner of the bytes that the task reads. Tasks of one owner with the same freedom may share
  // a child, and run in it one after the other: a child costs more than reading a small process. So
  // hostile bytes that took over their reader could not falsify results about another owner.
  std::uint64_t owner = kNoOwner;
};

enum class IsolatedEnd {
  kFinished,  // exit status 0
  kDeadline,  // killed by us, or unkillable and abandoned; earlier if a file hangs
  kCrashed,   // ended by a signal or with another status
  kNoMemory,  // needed more than Freedom::memory
  kNotRun,    // fork or pipe failed
  kNoTime,    // the time for all tasks was over before its turn came, or while it ran
};

struct IsolatedResult {
  IsolatedEnd end = IsolatedEnd::kNotRun;
  int signal = 0;     // the signal that ended it, 0 if none
  std::string bytes;  // all its output, even if it did not finish
  std::chrono::microseconds took{0};
  std::string held_up_by;  // kDeadline: its call on a file (proc/held_up.h)
};

inline constexpr std::size_t kMaxOutput = std::size_t{64} << 20;

using Meanwhile = std::function<void(const std::vector<IsolatedResult>& so_far)>;

// Runs all tasks, started in order, at most `at_once` at a time; returns results in the order of
// the tasks. Tasks with an owner that are held up in the kernel do not count towards that: others
// are started, until 16 children run. Kills a child that sends more than `byte_limit` (kCrashed).
// Blocks no longer than the tasks' timeouts; time in which the caller itself was stopped (a paused
// machine, a stopped job) does not count. Leaves no zombie behind, except of a child in state D.
// `all`: the time for all tasks together. If that is over, a running task has missed its deadline
// if it had half of its own time or a file holds it up; other tasks are kNoTime. `meanwhile`:
// called with the results so far, at least every 250 ms; tasks that have not ended are kNotRun in
// them.
std::vector<IsolatedResult> run_isolated(
    const std::vector<IsolatedTask>& tasks,
    std::size_t at_once,
    std::size_t byte_limit = kMaxOutput,
    std::chrono::milliseconds all = std::chrono::milliseconds::max(),
    const Meanwhile& meanwhile = {});

// A task that runs while the caller does other things (even run_isolated).
class PendingTask {
 public:
  // Starts it.
  explicit PendingTask(const IsolatedTask& task);
  PendingTask(PendingTask&&) noexcept;
  PendingTask& operator=(PendingTask&&) = delete;
  PendingTask(const PendingTask&) = delete;
  PendingTask& operator=(const PendingTask&) = delete;
  // Kills it if it was not finished.
  ~PendingTask();

  // Waits for the task's end, like run_isolated. The timeout counts from the start of the task;
  // output that the child has already sent counts even if that time is over. A child whose output
  // does not fit into a pipe (64 KiB) waits for this call. Call once.
  IsolatedResult finish(std::size_t byte_limit = kMaxOutput);

 private:
  struct Child;
  std::unique_ptr<Child> child_;
};

// Sends all of `bytes`, even if a signal interrupts it; for use in `run`. Returns false if the
// parent is gone.
bool send_bytes(int fd, const std::string& bytes);

// Closes all descriptors but stdin, stdout, stderr and `kept`: a forked process must not keep its
// parent's pipes and sockets open. Before Linux 5.9 only those that /proc lists.
void close_inherited(int kept);

}  // namespace oddrank
