// One client program (scontrol, srun, ...) that was started and is watched without blocking.
//
// It runs in a process group of its own, so that Ctrl-C at the terminal is ours to handle and not
// its; the kernel sends it SIGTERM if we die. Who wants to wait for the end uses run_command.h;
// who runs several at once polls pollfds() of each and calls read_output().
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank {

struct ProgramCall {
  std::vector<std::string> argv;  // argv[0] is looked up on PATH unless it has a '/' in it
  std::string stdin_path;         // file that is its stdin; empty: /dev/null
  // The whole environment as "NAME=value"; none: ours.
  std::optional<std::vector<std::string>> environment;
  // It is told to end by SIGTERM only, and may take its time for it. For srun: while it waits for a
  // node to take its task, it notes SIGTERM and ends its step no sooner than its own message
  // timeout (10 to 20 s in 22.05). Killed instead, it leaves a step that SLURM lists as running
  // until the job ends.
  bool never_kill = false;
};

enum class OutputStream { kStdout, kStderr };
using OutputSink = std::function<void(OutputStream, std::string_view)>;

struct ProgramEnd {
  int code = -1;   // of exit, -1 if a signal ended it
  int signal = 0;  // that ended it, 0 if none

  bool success() const { return code == 0; }
};

// Move-only. The destructor stops the command (see stop()).
class ChildCommand {
 public:
  // kNotFound: no such program on PATH, or no stdin_path; kIo, kPermission: it cannot be started.
  static Result<ChildCommand> start(const ProgramCall& command);
  ~ChildCommand();
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;
  ChildCommand(ChildCommand&& other) noexcept;
  ChildCommand& operator=(ChildCommand&& other) noexcept;

  pid_t pid() const { return pid_; }
  // Adds what poll(2) should watch; nothing once both outputs are at their end.
  void add_pollfds(std::vector<pollfd>& polled) const;
  // Passes on what is there, at most 1 MiB a call and stream; false once both are at their end.
  bool read_output(const OutputSink& sink);
  // Set once the command has ended; reaps it. Its output may still hold unread bytes.
  std::optional<ProgramEnd> exit_status();

  // To the whole process group.
  void signal(int number);
  // SIGTERM, at most `grace` of patience, then SIGKILL and at most 200 ms more; output goes on to
  // `sink`. None: it has not ended in time (state D, or never_kill); it is left to itself, and to
  // init once we end.
  std::optional<ProgramEnd> stop(std::chrono::milliseconds grace, const OutputSink& sink);

 private:
  ChildCommand(pid_t pid, UniqueFd out, UniqueFd err, bool never_kill)
      : pid_(pid), out_(std::move(out)), err_(std::move(err)), never_kill_(never_kill) {}
  bool wait_for_end(std::chrono::milliseconds patience, const OutputSink& sink);

  pid_t pid_ = -1;  // -1: moved from
  UniqueFd out_;
  UniqueFd err_;
  bool never_kill_ = false;
  bool told_to_end_ = false;
  std::optional<ProgramEnd> ended_;
};

}  // namespace oddrank
