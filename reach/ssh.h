// Agents over ssh. ssh never prompts (BatchMode): a host that requires a password is reported as
// such.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/programs/child_command.h"
#include "base/result.h"
#include "reach/remote_shells.h"
#include "reach/wire/answers.h"

namespace oddrank::reach {

struct SshOptions : ShellOptions {
  std::vector<std::string> ssh{"ssh"};  // the program and the user's options for it
};

// `hosts`: as ssh takes them ("n0", "eve@n0"); the answers name them without the user. Errors: as
// gather_over(), and no hosts (kUsage).
Result<GatherResult> gather_ssh(const std::vector<std::string>& hosts, const SshOptions& options);

// --- parts, for tests ---

// Returns the command for one host. `ship`: the binary is sent on stdin, from the file agent_path.
ProgramCall ssh_command(const std::string& host, const SshOptions& options, bool ship);

// Returns "n0" for "eve@n0".
std::string_view host_of(std::string_view destination);

// Returns why ssh failed, from its stderr, as a sentence without the host.
std::string ssh_complaint(std::string_view said);

}  // namespace oddrank::reach
