#include "reach/ssh.h"

#include <chrono>
#include <utility>

#include "reach/silence.h"

namespace oddrank::reach {
namespace {

constexpr int kSshFailed = 255;

}  // namespace

SshHosts::SshHosts(std::vector<std::string> hosts, std::vector<std::string> ssh, ShellLimits limits)
    : RemoteShells(limits), hosts_(std::move(hosts)), ssh_(std::move(ssh)) {}

Result<GatherResult> SshHosts::gather(const AgentOptions& options) const {
  if (hosts_.empty() || ssh_.empty()) {
    return fail(Errc::kUsage, "no hosts to ask");
  }
  for (const std::string& host : hosts_) {
    if (host.empty() || host.front() == '-') {
      return fail(Errc::kUsage, "'" + host + "' is not a host name");
    }
  }
  return RemoteShells::gather(options);
}

std::string SshHosts::host(std::size_t node) const {
  return std::string(host_of(hosts_[node]));
}

ProgramCall SshHosts::call(std::size_t node, const AgentOptions& options, bool ship) const {
  ProgramCall command;
  command.argv = ssh_;
  const auto patience = std::chrono::ceil<std::chrono::seconds>(options.node_timeout).count();
  command.argv.insert(command.argv.end(),
                      {"-T", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o",
                       "ConnectTimeout=" + std::to_string(patience), "--", hosts_[node],
                       remote_command(options, host(node), ship)});
  command.stdin_path = ship ? options.agent_path : "";
  return command;
}

std::string SshHosts::complaint(const ShellFailure& failure) const {
  return failure.end.code == kSshFailed ? ssh_complaint(failure.said) : "";
}

Error SshHosts::no_program() const {
  return {Errc::kNotFound, ssh_.front() + " not found",
          "install an ssh client, or name another with --ssh"};
}

std::string_view host_of(std::string_view destination) {
  const auto at = destination.rfind('@');
  return at == std::string_view::npos ? destination : destination.substr(at + 1);
}

std::string ssh_complaint(std::string_view said) {
  const std::string_view last = last_line(said);
  if (last.empty()) {
    return "ssh failed without a message";
  }
  std::string why =
      (last.starts_with("ssh: ") ? "" : "ssh: ") + std::string(last.substr(0, kMaxComplaint));
  if (last.find("Permission denied") != std::string_view::npos) {
    why += "; ssh must log in without a password (a key, and an agent that holds it)";
  } else if (last.find("Host key verification failed") != std::string_view::npos) {
    why += "; log in once by hand to accept the host's key";
  }
  return why;
}

}  // namespace oddrank::reach
