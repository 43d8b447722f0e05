// Runs one client program to its end, with a deadline, its output captured and bounded.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/child_command.h"
#include "base/deadline.h"
#include "base/result.h"

namespace oddrank {

struct CommandOutput {
  ProgramEnd exit;
  std::string out;
  std::string err;
  bool cut = false;        // more came than was kept
  bool timed_out = false;  // it had not ended at the deadline, and was stopped
};

// kNotFound, kPermission, kIo as ChildCommand::start. Neither an exit status other than 0 nor a
// deadline missed is an error here: what it wrote may say why. Returns at the latest 0.4 s after
// the deadline. Keeps at most `limit` bytes of each output; the rest is read and dropped.
Result<CommandOutput> run_command(const ProgramCall& command,
                                  const Deadline& deadline,
                                  std::size_t limit = std::size_t{4} << 20);

// "scontrol -o show job 7", for messages.
std::string command_line(const ProgramCall& command);

}  // namespace oddrank
