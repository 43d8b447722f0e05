// Agents by a command of the user's: any remote shell, or the means by which a scheduler runs
// something on one of its hosts.
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
  // `command`: "ssh -J bastion {host}", words as in a shell, but nothing in them is expanded;
  // {host} stands for a host, in any word. remote_command() is appended as the last word, and a
  // shell on that host has to read it. `hosts`: with or without a user ("eve@n0"); the answers name
  // them without. Errors (kUsage): a quote that is not closed, no {host}, no hosts, and what cannot
  // be the name of a host: it might mean something to a shell in the command.
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
