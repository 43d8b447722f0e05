// One child of run_isolated (isolated.h): forks it, gives it tasks, reads its output, and reaps it.
//
// A child may run several tasks, one after the other. It writes the output of each task into the
// same pipe, and then reports through a socket that the task has ended; all output is in the pipe
// by then.
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

// A child and the task that it runs. Its owner ends it by finish().
class IsolatedChild {
 public:
  // Forks a child that runs one of `tasks`, and later perhaps others of the same owner. nullopt if
  // fork or pipe fails.
  static std::optional<IsolatedChild> start(std::span<const IsolatedTask> tasks, std::size_t index);

  // Lets it run another of the tasks. Precondition: it has done its task, and may run another one.
  // Returns false if it is gone.
  bool give(const IsolatedTask& task, std::size_t index);

  std::size_t task() const { return task_; }
  const Deadline& deadline() const { return deadline_; }
  void move_deadline(std::chrono::milliseconds later) { deadline_ = deadline_.later(later); }
  // Moves the deadline to this one if it is later.
  void limit(const Deadline& all) { deadline_ = deadline_.at_most(all.left()); }
  // Returns for how long it has run its task.
  std::chrono::microseconds age() const;
  // Returns whether that is half of the task's own time, or more.
  bool had_time() const { return age() >= timeout_ / 2; }
  // Returns whether it has been at its task for long and sleeps: a process that is stuck in the
  // kernel may hold up its reader.
  bool held_up() const;
  // Returns the call on a file (proc/held_up.h) in which it has slept for a fifth of its time, two
  // seconds at least: we do not wait longer for a file. "" if there is no such call. It compares
  // with its previous call, so call it again and again.
  std::string silent_file();

  // To be polled for input; done() is -1 if the child runs no other task after this one.
  int output() const { return output_.get(); }
  int done() const { return channel_.get(); }

  // Takes a part of its output. Returns false at the end, or if there is more than `limit`; then
  // kills it.
  bool take_output(IsolatedResult& result, std::size_t limit) const;
  // Takes all its output so far. Returns as take_output does.
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
  std::string runs_;  // how often it has run, as the kernel says, since `slept_`
  std::chrono::steady_clock::time_point slept_;
  std::chrono::milliseconds timeout_{0};
  Deadline deadline_ = Deadline::after(std::chrono::milliseconds(0));
};

}  // namespace oddrank
