// The user's command at a stall: a shell line that gets the report, in its own process group, with
// a deadline.
//
// It gets the JSON's path as $1 and ODDRANK_JSON, the capture's as ODDRANK_CAPTURE, ODDRANK_KIND
// and ODDRANK_SUMMARY; and the watcher's environment without the variables of a rank (RANK,
// SLURM_PROCID, ...), so that it does not count as one. SLURM_JOB_ID stays.
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/programs/child_command.h"
#include "base/result.h"

namespace oddrank::watch {

struct StallFacts {
  std::string json;  // paths; "" = there is none
  std::string capture;
  std::string kind;     // of the verdict
  std::string summary;  // one line
};

// Returns the command's environment ("NAME=value"), made from ours.
std::vector<std::string> hook_environment(const std::vector<std::string>& environment,
                                          const StallFacts& facts);

// Move-only. The destructor stops the command.
class StallHook {
 public:
  static Result<StallHook> start(const std::string& command,
                                 const StallFacts& facts,
                                 std::chrono::milliseconds patience);

  // Stops the command if its time is over. Returns true while it runs.
  bool advance();
  void add_pollfds(std::vector<pollfd>& polled) const { child_.add_pollfds(polled); }
  const Deadline& deadline() const { return deadline_; }
  // Returns, once the command has exited, "" on success, else the failure and its last line.
  std::string complaint() const;
  // Returns its last lines on stdout and stderr, at most 4 KiB.
  std::vector<std::string> said() const;

 private:
  StallHook(ChildCommand child, Deadline deadline)
      : child_(std::move(child)), deadline_(deadline) {}

  ChildCommand child_;
  Deadline deadline_;
  std::optional<ProgramEnd> ended_;
  bool late_ = false;
  std::string said_;  // the end of its output
};

}  // namespace oddrank::watch
