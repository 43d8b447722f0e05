// A real process for a live test to read: it is started with pipes, tests wait for facts about it,
// and it is certainly gone afterwards, even if the test fails or dies.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::test {

struct VictimOptions {
  // Set for the victim, on top of the test's own environment.
  std::vector<std::pair<std::string, std::string>> environment;
  bool clean_environment = false;  // only `environment`, PATH and HOME
  // The victim gets SIGKILL when the test's process exits. A child of the victim does not inherit
  // this, but is in the same process group, which the destructor kills.
  bool die_with_test = true;
};

// Returns the path of a built program of tests/victims (victim_path("blocked")), or of a script
// there.
std::string victim_path(std::string_view name);
std::string victim_script(std::string_view name);

// Move-only. The destructor kills the victim's process group and reaps the victim.
class Victim {
 public:
  // Starts a command. `command[0]` is looked up in PATH. Fails if it cannot be executed.
  static Result<Victim> start(const std::vector<std::string>& command,
                              const VictimOptions& options = {});

  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  Victim(Victim&& other) noexcept;
  Victim& operator=(Victim&& other) noexcept;

  pid_t pid() const { return pid_; }

  // Reads lines from the victim's stdout until one begins with `prefix`; returns that line without
  // its prefix, the blank after it and the newline. "ready 12 34" by "ready" is "12 34". Lines
  // before it are dropped. kTimeout, or kGone if the victim closed its stdout first.
  Result<std::string> wait_line(std::string_view prefix, Deadline deadline = soon());

  // Writes to the victim's stdin.
  Status send(std::string_view text);
  void close_stdin() { stdin_.reset(); }

  // Waits until the thread (or process) `tid` is in one of these states of /proc: "S", "DZ".
  // `tid` 0: the victim's main thread.
  Status wait_state(std::string_view states, pid_t tid = 0, Deadline deadline = soon()) const;
  // Waits until it is blocked in this system call (x86-64 number), according to /proc/TID/syscall.
  Status wait_syscall(long number, pid_t tid = 0, Deadline deadline = soon()) const;

  void signal(int number) const;
  // Waits until the victim exits by itself and reaps it; returns its wait status. kTimeout if it
  // goes on.
  Result<int> wait_end(Deadline deadline = soon());
  // Sends SIGKILL to the whole group, and reaps the victim.
  void kill();

  // Returns the deadline for events that must happen: long, for loaded machines; never reached if
  // all is well.
  static Deadline soon() { return Deadline::after(std::chrono::seconds(45)); }

 private:
  Victim(pid_t pid, UniqueFd in, UniqueFd out)
      : pid_(pid), stdin_(std::move(in)), stdout_(std::move(out)) {}

  std::optional<std::string> take_line();

  pid_t pid_ = 0;  // 0: moved from, or reaped
  UniqueFd stdin_;
  UniqueFd stdout_;
  std::string unread_;
};

}  // namespace oddrank::test
