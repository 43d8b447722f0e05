#include "reach/ssh.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <vector>

#include "reach/wire/frames.h"
#include "tests/support/catch.h"

namespace oddrank::reach {
namespace {

// A folder with a stand-in for ssh: it drops ssh's options and runs the remote command here. Host
// "deaf" refuses, host "mute" never answers.
class FakeSsh {
 public:
  FakeSsh() {
    char name[] = "/tmp/oddrank-ssh-test-XXXXXX";
    folder_ = ::mkdtemp(name);
    write("ssh", R"(#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift; host=$1; shift
case $host in
*deaf) echo "$host: Permission denied (publickey)." >&2; exit 255 ;;
*mute) exec sleep 600 ;;
esac
exec /bin/sh -c "$*"
)");
  }
  ~FakeSsh() {
    for (const std::string& name : files_) {
      ::unlink((folder_ + "/" + name).c_str());
    }
    ::rmdir(folder_.c_str());
  }
  FakeSsh(const FakeSsh&) = delete;
  FakeSsh& operator=(const FakeSsh&) = delete;
  FakeSsh(FakeSsh&&) = delete;
  FakeSsh& operator=(FakeSsh&&) = delete;

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0755) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    files_.push_back(name);
    return path;
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
  std::vector<std::string> files_;
};

// Returns an agent that prints a hello and the payload; the frames are made here.
std::string agent_script(const std::string& host, const std::string& payload) {
  return "#!/bin/sh\ncat <<'EOF'\n" + encode_hello({host, 7}) + encode_frames({host, 7}, payload) +
         "EOF\n";
}

struct SshOptions : AgentOptions {
  std::vector<std::string> ssh{"ssh"};
  std::chrono::milliseconds slack{5000};
};

Result<GatherResult> gather_ssh(std::vector<std::string> hosts, const SshOptions& options) {
  return SshHosts(std::move(hosts), options.ssh, {options.slack}).gather(options);
}

SshOptions options_for(const FakeSsh& ssh, const std::string& agent) {
  SshOptions options;
  options.ssh = {ssh.path("ssh")};
  options.agent_path = agent;
  options.agent_args = {"agent"};
  options.node_timeout = std::chrono::milliseconds(20000);
  options.slack = std::chrono::milliseconds(5000);
  return options;
}

TEST_CASE("a destination of ssh has a host") {
  CHECK(host_of("eve@n0") == "n0");
  CHECK(host_of("n0") == "n0");
}

TEST_CASE("the reason why ssh failed comes with a remedy") {
  CHECK(ssh_complaint("Warning: x\neve@n0: Permission denied (publickey).\r\n") ==
        "ssh: eve@n0: Permission denied (publickey).; ssh must log in without a password "
        "(a key, and an agent that holds it)");
  CHECK(ssh_complaint("ssh: connect to host n9 port 22: Connection refused") ==
        "ssh: connect to host n9 port 22: Connection refused");
  CHECK(ssh_complaint("\n\n") == "ssh failed without a message");
}

TEST_CASE("hosts answer, are refused, or stay silent, each for itself") {
  FakeSsh ssh;
  const std::string agent = ssh.write("agent", agent_script("n0", "hello"));
  SshOptions options = options_for(ssh, agent);
  options.node_timeout = std::chrono::milliseconds(4500);  // the mute host takes all of it
  options.slack = std::chrono::milliseconds(200);
  const auto result = gather_ssh({"eve@n0", "deaf", "mute"}, options);
  REQUIRE(result);
  REQUIRE(result->nodes.size() == 3);
  CHECK(result->nodes[0].host == "n0");
  CHECK(result->nodes[0].answered);
  CHECK(result->nodes[0].payload == "hello");
  CHECK_FALSE(result->nodes[1].answered);
  CHECK(result->nodes[1].why.find("Permission denied") != std::string::npos);
  CHECK(result->nodes[2].why == "node did not answer in 4.5 s");
  CHECK(result->answered() == 1);
}

TEST_CASE("a host that reports why it takes longer is waited for, a silent one is not") {
  FakeSsh ssh;
  // ssh's words are options, --, the host and the script.
  ssh.write("ssh",
            "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\n"
            "[ \"$2\" = n0 ] || exec sleep 60\ncat <<'EOF'\n" +
                encode_doing({"n0", 7}, "waits are young, sampling again (3)") +
                "EOF\nsleep 4\ncat <<'EOF'\n" + encode_frames({"n0", 7}, "late") + "EOF\n");
  SshOptions options = options_for(ssh, ssh.path("agent"));
  options.node_timeout = std::chrono::milliseconds(2500);
  options.slack = std::chrono::milliseconds(500);
  options.longest_delay = std::chrono::seconds(60);
  const auto result = gather_ssh({"n0", "n1"}, options);
  REQUIRE(result);
  CHECK(result->nodes[0].payload == "late");
  CHECK_FALSE(result->nodes[1].answered);
  CHECK(result->nodes[1].why.find("did not answer in 2.5 s") != std::string::npos);
  CHECK(result->took < std::chrono::seconds(30));
}

TEST_CASE("the draft of a host that does not answer is kept") {
  FakeSsh ssh;
  const std::string agent = ssh.write(
      "agent", "#!/bin/sh\ncat <<'EOF'\n" + encode_draft({"n0", 7}, "so far") + "EOF\nexit 137\n");
  const auto result = gather_ssh({"n0"}, options_for(ssh, agent));
  REQUIRE(result);
  CHECK_FALSE(result->nodes[0].answered);
  CHECK(result->nodes[0].payload == "so far");
  CHECK(result->nodes[0].why.find("137") != std::string::npos);
}

TEST_CASE("a missing binary is copied to the host") {
  FakeSsh ssh;
  const std::string agent = ssh.write("agent", agent_script("n0", "shipped"), 0644);
  SshOptions options = options_for(ssh, agent);
  std::size_t calls = 0;
  options.progress = [&calls](const GatherProgress& now) {
    ++calls;
    CHECK(now.total == 1);
  };
  // Not executable: as on a host that lacks it, the shell's exit status is 126 or 127.
  const auto result = gather_ssh({"n0"}, options);
  REQUIRE(result);
  CHECK(result->nodes[0].payload == "shipped");
  CHECK(calls > 0);
}

TEST_CASE("an agent that says nothing is quoted") {
  FakeSsh ssh;
  const std::string agent =
      ssh.write("agent", "#!/bin/sh\necho 'oddrank: ranks of 2 jobs run here' >&2\nexit 2\n");
  const auto result = gather_ssh({"n0"}, options_for(ssh, agent));
  REQUIRE(result);
  CHECK(result->nodes[0].why.find("ranks of 2 jobs run here") != std::string::npos);
}

TEST_CASE("an interrupt ends the waiting") {
  FakeSsh ssh;
  const std::string agent = ssh.write("agent", agent_script("n0", "x"));
  const std::atomic<bool> interrupted{true};
  SshOptions options = options_for(ssh, agent);
  options.node_timeout = std::chrono::minutes(5);
  options.interrupted = &interrupted;
  const auto result = gather_ssh({"mute", "n1"}, options);
  REQUIRE(result);
  CHECK(result->interrupted);
  CHECK(result->nodes[0].why == "interrupted before its turn");
}

TEST_CASE("a host that was being waited for is not blamed for the interrupt") {
  FakeSsh ssh;
  std::atomic<bool> interrupted{false};
  SshOptions options = options_for(ssh, ssh.path("agent"));
  options.interrupted = &interrupted;
  options.progress = [&interrupted](const GatherProgress& /*now*/) { interrupted = true; };
  const auto result = gather_ssh({"mute"}, options);
  REQUIRE(result);
  CHECK(result->nodes[0].why == "interrupted before its agent started");
}

TEST_CASE("a host that cannot be contacted at all is an error") {
  SshOptions options;
  options.agent_path = "/bin/true";
  CHECK(gather_ssh({}, options).error().code == Errc::kUsage);
  CHECK(gather_ssh({"-oProxyCommand=x"}, options).error().code == Errc::kUsage);
  options.ssh = {"no-such-program-anywhere"};
  CHECK(gather_ssh({"n0"}, options).error().code == Errc::kNotFound);
  options.agent_path = "oddrank";
  CHECK(gather_ssh({"n0"}, options).error().code == Errc::kUsage);
}

}  // namespace
}  // namespace oddrank::reach
