// Agents over ssh. ssh never prompts (BatchMode): the report says if a host requires a password.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/programs/child_command.h"
#include "base/result.h"
#include "reach/remote_shells.h"
#include "reach/wire/answers.h"

namespace oddrank::reach {

class SshHosts : public RemoteShells {
 public:
  // `hosts`: as ssh takes them ("n0", "eve@n0"); the answers name them without the user. `ssh`: the
  // program and the user's options for it.
  SshHosts(std::vector<std::string> hosts, std::vector<std::string> ssh, ShellLimits limits = {});

  // Errors: also hosts that ssh would take for options (kUsage).
  Result<GatherResult> gather(const AgentOptions& options) const override;

  std::size_t size() const override { return hosts_.size(); }
  std::string host(std::size_t node) const override;
  ProgramCall call(std::size_t node, const AgentOptions& options, bool ship) const override;
  std::string complaint(const ShellFailure& failure) const override;
  Error no_program() const override;

 private:
  std::vector<std::string> hosts_;
  std::vector<std::string> ssh_;
};

// Returns "n0" for "eve@n0".
std::string_view host_of(std::string_view destination);

// Returns why ssh failed, from its stderr, as a sentence without the host. For tests.
std::string ssh_complaint(std::string_view said);

}  // namespace oddrank::reach
