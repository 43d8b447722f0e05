// One client program (scontrol, srun, ...) that was started and is watched without blocking.
//
// It runs in its own process group, so that Ctrl-C at the terminal reaches only us; the kernel
// sends it SIGTERM if we die. To wait for its exit, use run_command.h; to run several at once, poll
// the descriptors from add_pollfds() and call read_output().
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
  // argv[0] is looked up in the absolute folders of PATH unless it has a '/' in it.
  std::vector<std::string> argv;
  std::string stdin_path;  // file for its stdin; empty: /dev/null
  // Its stdin is instead a pipe with an empty line, open for the lifetime of this object: kubectl
  // detaches from a container when its stdin ends.
  bool stdin_stays_open = false;
  // The whole environment as "NAME=value"; nullopt: ours.
  std::optional<std::vector<std::string>> environment;
  // We and our descendants may read the program's memory, even if Yama lets only parents read it.
  bool readable_by_us = false;
  // The program gets SIGTERM but never SIGKILL, and may take long to exit. srun needs this: while
  // it waits for a node to take its task, it acts on SIGTERM only after its own message timeout (10
  // to 20 s in 22.05). If srun is killed, SLURM lists its step as running until the job ends.
  bool never_kill = false;
};

enum class OutputStream { kStdout, kStderr };
using OutputSink = std::function<void(OutputStream, std::string_view)>;

struct ProgramEnd {
  int code = -1;   // its exit status; -1 if a signal ended it
  int signal = 0;  // the signal that ended it; 0 if none

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
  ChildCommand& operator=(ChildCommand&&) = delete;

  pid_t pid() const { return pid_; }
  // Adds what poll(2) should watch; nothing once both outputs are at their end.
  void add_pollfds(std::vector<pollfd>& polled) const;
  // Passes on the available output, at most 1 MiB for each call and stream; returns false once both
  // have ended.
  bool read_output(const OutputSink& sink);
  // Returns how the command ended, and reaps it; nullopt while it runs. Its output may still hold
  // unread bytes.
  std::optional<ProgramEnd> exit_status();

  // Signals the whole process group.
  void signal(int number);
  // Sends SIGTERM, waits for at most `grace`, then sends SIGKILL to it and the rest of its process
  // group, and waits for at most 200 ms; output still goes to `sink`. Returns nullopt if the
  // command did not exit in time (state D, or never_kill); then init reaps it once we exit.
  std::optional<ProgramEnd> stop(std::chrono::milliseconds grace, const OutputSink& sink);

 private:
  ChildCommand(pid_t pid, UniqueFd in, UniqueFd out, UniqueFd err, bool never_kill)
      : pid_(pid),
        in_(std::move(in)),
        out_(std::move(out)),
        err_(std::move(err)),
        never_kill_(never_kill) {}
  // Returns whether it has exited, without reaping it.
  bool has_exited();
  bool wait_for_end(std::chrono::milliseconds patience, const OutputSink& sink);

  pid_t pid_ = -1;  // -1: moved from
  UniqueFd in_;     // our end of its stdin, if that stays open
  UniqueFd out_;
  UniqueFd err_;
  bool never_kill_ = false;
  bool asked_to_end_ = false;
  std::optional<ProgramEnd> ended_;
};

}  // namespace oddrank
