// Agents that the user's own command starts (--via): any remote shell, or a scheduler's command
// that runs a program on one of its hosts.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/programs/child_command.h"
#include "base/result.h"
#include "reach/remote_shells.h"
#include "reach/wire/answers.h"

namespace oddrank::reach {

class HostsByCommand : public RemoteShells {
 public:
  // `command`: "ssh -J bastion {host}", split into words as in a shell, but nothing is expanded;
  // {host} in any word becomes the host. remote_command() is appended as the last word, for a shell
  // on that host. `hosts`: with or without a user ("eve@n0"); the answers name them without. Errors
  // (kUsage): a quote that is not closed, no {host}, no hosts, or a text that is not a host's name
  // (a shell in the command might interpret it).
  static Result<std::unique_ptr<FrontEnd>> make(std::string_view command,
                                                std::vector<std::string> hosts,
                                                ShellLimits limits = {});

  std::size_t size() const override { return hosts_.size(); }
  std::string host(std::size_t node) const override;
  ProgramCall call(std::size_t node, const AgentOptions& options, bool ship) const override;
  std::string complaint(const ShellFailure& failure) const override;
  Error no_program() const override;

 private:
  HostsByCommand(std::vector<std::string> words,
                 std::vector<std::string> hosts,
                 ShellLimits limits);
  std::vector<std::string> words_for(std::size_t node) const;

  std::vector<std::string> words_;
  std::vector<std::string> hosts_;
};

}  // namespace oddrank::reach
