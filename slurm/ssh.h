// Starts one agent on each host over ssh and returns their answers: what gather.h does with srun,
// for clusters without SLURM.
//
// The agent is our own binary at the same path. If a host lacks it, it is sent through ssh's stdin
// into a temporary folder, which is removed when the agent has exited. ssh never prompts
// (BatchMode): a host that requires a password is reported as such.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_command.h"
#include "base/result.h"
#include "slurm/answers.h"

namespace oddrank::slurm {

struct SshOptions : AgentOptions {
  std::vector<std::string> ssh{"ssh"};  // the program and the user's options for it
  // Time beyond node_timeout for the connection and for sending the binary.
  std::chrono::milliseconds slack{5000};
  std::size_t at_once = 64;
};

// `hosts`: as ssh takes them ("n0", "eve@n0"); the answers name them without the user. Hosts
// without an answer are not an error: their rows say why. Errors: no ssh here (kNotFound), no hosts
// or a relative agent_path (kUsage). Returns within ceil(hosts / at_once) x (node_timeout +
// longest_delay + slack). However we exit, no agent of ours runs on a host for longer than
// node_timeout + longest_delay plus its own grace.
Result<GatherResult> gather_ssh(const std::vector<std::string>& hosts, const SshOptions& options);

// --- parts, for tests ---

// Returns the command for one host. `ship`: the binary is sent on stdin, from the file agent_path.
ProgramCall ssh_command(const std::string& host, const SshOptions& options, bool ship);

// Returns "n0" for "eve@n0".
std::string_view host_of(std::string_view destination);

// Returns why ssh failed, from its stderr, as a sentence without the host.
std::string ssh_complaint(std::string_view said);

}  // namespace oddrank::slurm
