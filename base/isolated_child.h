// One child of run_isolated (isolated.h): forks it, gives it tasks, reads its output, and reaps it.
//
// A child may run several tasks, one after the other. It writes the output of each task into the
// same pipe, and then reports the task's end through a socket.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include "base/deadline.h"
#include "base/isolated.h"
#include "base/unique_fd.h"

namespace oddrank {

// A child and its task. Its owner must call finish().
class IsolatedChild {
 public:
  // Forks a child that runs one of `tasks`, and later perhaps others of the same owner. nullopt if
  // fork or pipe fails.
  static std::optional<IsolatedChild> start(std::span<const IsolatedTask> tasks, std::size_t index);

  // Gives the child another task. Precondition: its last task is done, and it may run another one.
  // Returns false if the child is gone.
  bool give(const IsolatedTask& task, std::size_t index);

  std::size_t task() const { return task_; }
  const Deadline& deadline() const { return deadline_; }
  void move_deadline(std::chrono::milliseconds later) { deadline_ = deadline_.later(later); }
  // Moves the deadline to `all` if it is later.
  void limit(const Deadline& all) { deadline_ = deadline_.at_most(all.left()); }
  // Returns how long it has run its task.
  std::chrono::microseconds age() const;
  // Returns whether that is at least half of the task's own time.
  bool had_time() const { return age() >= timeout_ / 2; }
  // Returns whether it has been at its task for long and sleeps: a process that is stuck in the
  // kernel may hold up its reader.
  bool held_up() const;
  // Returns the call on a file (proc/held_up.h) in which it has slept for a fifth of its time, at
  // least two seconds: we do not wait longer for a file. "" if there is no such call. Compares with
  // its previous call, so call it regularly.
  std::string silent_file();

  // Return descriptors to poll for input; done() is -1 if the child will run no further task.
  int output() const { return output_.get(); }
  int done() const { return channel_.get(); }

  // Takes a part of its output. Returns false at the end, or if there is more than `limit`; then
  // kills it.
  bool take_output(IsolatedResult& result, std::size_t limit) const;
  // Takes all its output so far. Returns the same as take_output.
  bool take_waiting(IsolatedResult& result, std::size_t limit) const;
  // Returns whether it has done its task, and takes the rest of its output if so.
  bool take_rest(IsolatedResult& result, std::size_t limit) const;

  void kill() const;
  pid_t pid() const { return pid_; }
  // Reaps it after it has closed its pipe, was killed or has done all its tasks, and stores how it
  // ended, if the result does not have that yet. A child in state D cannot die yet: it is left to
  // init rather than waited for.
  void finish(IsolatedResult& result);

 private:
  [[noreturn]] static void run(std::span<const IsolatedTask> tasks,
                               std::size_t index,
                               int output,
                               int channel,
                               pid_t parent);
  void begin(const IsolatedTask& task, std::size_t index);

  std::size_t task_ = 0;
  pid_t pid_ = -1;
  UniqueFd output_;
  UniqueFd channel_;
  std::chrono::steady_clock::time_point started_;
  std::string runs_;  // the kernel's count of how often it has run, unchanged since `slept_`
  std::chrono::steady_clock::time_point slept_;
  std::chrono::milliseconds timeout_{0};
  Deadline deadline_ = Deadline::after(std::chrono::milliseconds(0));
};

}  // namespace oddrank
