// Runs one client program to its end, with a deadline; captures its output, bounded.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/deadline.h"
#include "base/programs/child_command.h"
#include "base/result.h"

namespace oddrank {

struct CommandOutput {
  ProgramEnd exit;
  std::string out;
  std::string err;
  bool cut = false;        // more arrived than was kept
  bool timed_out = false;  // it had not exited at the deadline, and was stopped
};

// Runs the command. Fails with kNotFound, kPermission or kIo as ChildCommand::start does. Neither
// an exit status other than 0 nor a missed deadline is an error here: the output may say why.
// Returns at most 0.4 s after the deadline. Keeps at most `limit` bytes of each output; the rest is
// read and dropped.
Result<CommandOutput> run_command(const ProgramCall& command,
                                  const Deadline& deadline,
                                  std::size_t limit = std::size_t{4} << 20);

}  // namespace oddrank
