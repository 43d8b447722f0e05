// One agent a host over ssh, all answers back: what gather.h does with srun, for clusters without
// SLURM.
//
// The agent is our own binary under the same path; where a host has no such file it is sent through
// ssh's stdin into a temporary folder, which goes when the agent has ended. ssh never asks anybody
// anything (BatchMode): a host that wants a password is a row that says so.
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
  std::vector<std::string> ssh{"ssh"};  // the program, and options of the user's for it
  // Beyond node_timeout, for the connection and for sending the binary.
  std::chrono::milliseconds slack{5000};
  std::size_t at_once = 64;
};

// `hosts`: as ssh takes them ("n0", "eve@n0"); in the answers they are without the user. Hosts that
// gave nothing are no error: their rows say why. Errors: no ssh here (kNotFound), no hosts or a
// relative agent_path (kUsage). Returns within ceil(hosts / at_once) x (node_timeout + slack).
// Nothing of ours runs on any host for longer than node_timeout, however we end.
Result<GatherResult> gather_ssh(const std::vector<std::string>& hosts, const SshOptions& options);

// --- what it is made of, for tests ---

// The command for one host. `ship`: the binary comes on stdin, and stdin is the file agent_path.
ProgramCall ssh_command(const std::string& host, const SshOptions& options, bool ship);

// "n0" of "eve@n0".
std::string_view host_of(std::string_view destination);

// A word that a POSIX shell reads back as it is.
std::string shell_quoted(std::string_view word);

// Why ssh gave nothing, from what stands on its stderr; a sentence without the host.
std::string ssh_complaint(std::string_view said);

}  // namespace oddrank::slurm
