#include "reach/by_command.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/shell_words.h"
#include "reach/silence.h"
#include "reach/ssh.h"

namespace oddrank::reach {
namespace {

constexpr std::string_view kHostMark = "{host}";
constexpr std::size_t kMaxHostName = 255;

bool is_host_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxHostName && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char byte) {
           return is_letter(byte) || is_digit(byte) || contains("-._:@", {&byte, 1});
         });
}

}  // namespace

Result<std::unique_ptr<FrontEnd>> HostsByCommand::make(std::string_view command,
                                                       std::vector<std::string> hosts,
                                                       ShellLimits limits) {
  ODDRANK_TRY(std::vector<std::string> words, split_as_shell(command));
  const auto marked = [](const std::string& word) { return contains(word, kHostMark); };
  if (std::none_of(words.begin(), words.end(), marked)) {
    return fail(Errc::kUsage, "the command has no {host}: " + std::string(command),
                "say where the name of a host goes: --via 'ssh -J bastion {host}'");
  }
  if (hosts.empty()) {
    return fail(Errc::kUsage, "no hosts to ask");
  }
  for (const std::string& host : hosts) {
    if (!is_host_name(host)) {
      return fail(Errc::kUsage, "'" + host + "' is not a host name",
                  "the names that --via puts into a command have letters, digits and . _ - : @");
    }
  }
  return std::unique_ptr<FrontEnd>(new HostsByCommand(std::move(words), std::move(hosts), limits));
}

HostsByCommand::HostsByCommand(std::vector<std::string> words,
                               std::vector<std::string> hosts,
                               ShellLimits limits)
    : RemoteShells(limits), words_(std::move(words)), hosts_(std::move(hosts)) {}

std::string HostsByCommand::host(std::size_t node) const {
  return std::string(host_of(hosts_[node]));
}

std::vector<std::string> HostsByCommand::words_for(std::size_t node) const {
  std::vector<std::string> words = words_;
  const std::string& host = hosts_[node];
  for (std::string& word : words) {
    for (auto at = word.find(kHostMark); at != std::string::npos;
         at = word.find(kHostMark, at + host.size())) {
      word.replace(at, kHostMark.size(), host);
    }
  }
  return words;
}

ProgramCall HostsByCommand::call(std::size_t node, const AgentOptions& options, bool ship) const {
  ProgramCall call;
  call.argv = words_for(node);
  call.argv.push_back(remote_command(options, host(node), ship));
  call.stdin_path = ship ? options.agent_path : "";
  return call;
}

// Once an agent was heard, it is the agent that failed.
std::string HostsByCommand::complaint(const ShellFailure& failure) const {
  if (failure.heard) {
    return "";
  }
  const std::string said(last_line(failure.said).substr(0, kMaxComplaint));
  std::string by_hand;
  for (const std::string& word : words_for(failure.node)) {
    by_hand += shell_quoted(word) + " ";
  }
  std::string why = words_.front() + " " + failure.end_words() + " and started no agent" +
                    (said.empty() ? "" : " (" + said + ")") + "; try: " + by_hand + "true";
  // It may have taken the whole command line for the name of a program.
  if (is_lacking(failure.end) && words_.back() != "-c") {
    why += "; if it runs programs without a shell, end --via with sh -c";
  }
  return why;
}

Error HostsByCommand::no_program() const {
  return {Errc::kNotFound, words_.front() + " not found",
          "--via takes a command of this machine, such as 'ssh -J bastion {host}'"};
}

}  // namespace oddrank::reach
