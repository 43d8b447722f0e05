// Starts one agent on each host by a program that runs a shell script there (ssh, kubectl exec),
// and returns their answers, like slurm/gather.h with srun.
//
// The agent is our own binary at the same path. If a host lacks it, it is sent through the
// program's stdin into a temporary folder, which is removed when the agent has exited.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/programs/child_command.h"
#include "base/result.h"
#include "reach/front_end.h"
#include "reach/wire/answers.h"

namespace oddrank::reach {

struct ShellLimits {
  // Time beyond node_timeout for the connection and for sending the binary.
  std::chrono::milliseconds slack{5000};
  std::size_t at_once = 64;
};

// How the program that should reach a host ended without an answer.
struct ShellFailure {
  std::size_t node = 0;
  ProgramEnd end;
  bool heard = false;     // the agent had started
  std::string_view said;  // the program's stderr, and the agent's

  std::string end_words() const;  // "exited with status 2"
};

// The common part of such front ends. A derived class knows how to reach one host.
class RemoteShells : public FrontEnd {
 public:
  explicit RemoteShells(ShellLimits limits) : limits_(limits) {}

  // Returns only the given hosts: nothing else is known.
  Result<snapshot::JobInfo> find_job(const Deadline& deadline) override;
  // Errors: no such program here (kNotFound). Returns within ceil(hosts / at_once) x (node_timeout
  // + longest_delay + slack).
  Result<GatherResult> gather(const AgentOptions& options) const override;

  const ShellLimits& limits() const { return limits_; }
  virtual std::size_t size() const = 0;
  // Returns the host's name in reports and in its agent's answer.
  virtual std::string host(std::size_t node) const = 0;
  // Returns whether the binary can be sent to a host that lacks it.
  virtual bool can_ship() const { return true; }
  // Returns the command that runs remote_script() on the host. `ship`: the binary is sent on stdin.
  virtual ProgramCall call(std::size_t node, const AgentOptions& options, bool ship) const = 0;
  // Returns why the program itself failed, as a sentence without the host; "" if the script did.
  virtual std::string complaint(const ShellFailure& failure) const = 0;
  // Returns the error for a machine without the program.
  virtual Error no_program() const = 0;

 private:
  ShellLimits limits_;
};

// Returns whether this is a POSIX shell's exit status for a program that is missing or may not be
// run.
bool is_lacking(const ProgramEnd& end);

// Returns the script for a POSIX shell on that host.
std::string remote_script(const AgentOptions& options, std::string_view host, bool ship);
// Returns a command line for any shell on that host that runs this script in a POSIX shell.
std::string remote_command(const AgentOptions& options, std::string_view host, bool ship);

}  // namespace oddrank::reach
