#include "reach/ssh.h"

#include <chrono>

#include "base/shell_words.h"
#include "reach/complaints.h"

namespace oddrank::reach {
namespace {

constexpr int kSshFailed = 255;

class SshShells : public RemoteShells {
 public:
  SshShells(const std::vector<std::string>& hosts, const SshOptions& options)
      : hosts_(hosts), options_(options) {}

  std::size_t size() const override { return hosts_.size(); }
  std::string host(std::size_t node) const override { return std::string(host_of(hosts_[node])); }
  ProgramCall call(std::size_t node, bool ship) const override {
    return ssh_command(hosts_[node], options_, ship);
  }
  std::string complaint(const ProgramEnd& end, std::string_view said) const override {
    return end.code == kSshFailed ? ssh_complaint(said) : "";
  }
  Error no_program() const override;

 private:
  const std::vector<std::string>& hosts_;
  const SshOptions& options_;
};

Error SshShells::no_program() const {
  return {Errc::kNotFound, options_.ssh.front() + " not found",
          "install an ssh client, or name another with --ssh"};
}

}  // namespace

std::string_view host_of(std::string_view destination) {
  const auto at = destination.rfind('@');
  return at == std::string_view::npos ? destination : destination.substr(at + 1);
}

ProgramCall ssh_command(const std::string& host, const SshOptions& options, bool ship) {
  const std::string script = remote_script(options, host_of(host), ship);
  ProgramCall command;
  command.argv = options.ssh;
  const auto patience = std::chrono::ceil<std::chrono::seconds>(options.node_timeout).count();
  command.argv.insert(command.argv.end(),
                      {"-T", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o",
                       "ConnectTimeout=" + std::to_string(patience), "--", host,
                       // A POSIX shell reads the script, whatever the user's shell is.
                       "exec /bin/sh -c " + shell_quoted(script)});
  command.stdin_path = ship ? options.agent_path : "";
  return command;
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

Result<GatherResult> gather_ssh(const std::vector<std::string>& hosts, const SshOptions& options) {
  if (hosts.empty() || options.ssh.empty()) {
    return fail(Errc::kUsage, "no hosts to ask");
  }
  for (const std::string& host : hosts) {
    if (host.empty() || host.front() == '-') {
      return fail(Errc::kUsage, "'" + host + "' is not a host name");
    }
  }
  return gather_over(SshShells(hosts, options), options);
}

}  // namespace oddrank::reach
