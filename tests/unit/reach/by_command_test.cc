#include "reach/by_command.h"

#include <string>

#include "reach/wire/frames.h"
#include "tests/support/catch.h"

namespace oddrank::reach {
namespace {

// Speaks for ssh: joins its words, and a shell reads them. Host "deaf" is refused.
constexpr const char* kShell =
    "sh -c 'case $1 in deaf) echo a warning >&2; echo no such host >&2; exit 6;; esac; shift; "
    "exec sh -c \"$*\"' - {host}";
// Speaks for flux exec: starts its words as a program.
constexpr const char* kNoShell = "sh -c 'shift; exec \"$@\"' - {host}";

Result<GatherResult> gather_by(const std::string& command,
                               std::vector<std::string> hosts,
                               const std::string& script) {
  AgentOptions options;
  options.agent_path = "/bin/sh";
  options.agent_args = {"-c", script};
  ODDRANK_TRY(const auto front_end, HostsByCommand::make(command, std::move(hosts)));
  return front_end->gather(options);
}

// The agent's words end with --host and the name.
std::string answer(const std::string& host) {
  return "printf %s '" + encode_hello({host, 7}) + encode_frames({host, 7}, "hello " + host) + "'";
}

TEST_CASE("hosts answer by a command of the user's, and say which of them it does not reach") {
  const auto result = gather_by(kShell, {"eve@n0", "deaf"}, answer("n0"));
  REQUIRE(result);
  REQUIRE(result->nodes.size() == 2);
  CHECK(result->nodes[0].host == "n0");
  CHECK(result->nodes[0].payload == "hello n0");
  CHECK_FALSE(result->nodes[1].answered);
  CHECK(result->nodes[1].why.starts_with(
      "sh exited with status 6 and started no agent (no such host); try: sh -c "));
  CHECK(result->nodes[1].why.ends_with(" - deaf true"));
}

TEST_CASE("a command that runs programs without a shell needs one at its end") {
  const auto without = gather_by(kNoShell, {"n0"}, answer("n0"));
  REQUIRE(without);
  INFO(without->nodes[0].why);
  CHECK(without->nodes[0].why.starts_with("sh exited with status 12"));
  CHECK(without->nodes[0].why.ends_with(
      " - n0 true; if it runs programs without a shell, end --via with sh -c"));
  const auto with = gather_by(std::string(kNoShell) + " sh -c", {"n0"}, answer("n0"));
  REQUIRE(with);
  CHECK(with->nodes[0].payload == "hello n0");
}

TEST_CASE("the name of a host goes into every word that asks for it") {
  const auto front_end = HostsByCommand::make("run 'on {host}' {host}.{host} {hosts}", {"n0"});
  REQUIRE(front_end);
  const auto& shells = dynamic_cast<const RemoteShells&>(**front_end);
  AgentOptions options;
  options.agent_path = "/a b/oddrank";
  options.agent_args = {"agent"};
  CHECK(shells.call(0, options, false).argv ==
        std::vector<std::string>{"run", "on n0", "n0.n0", "{hosts}",
                                 R"(exec /bin/sh -c 'exec '\''/a b/oddrank'\'' agent --host n0')"});
  CHECK(shells.call(0, options, true).stdin_path == "/a b/oddrank");
}

TEST_CASE("an agent that failed is not the command's fault") {
  const auto result = gather_by(
      kShell, {"n0"}, "printf %s '" + encode_hello({"n0", 7}) + "'; echo full >&2; exit 3");
  REQUIRE(result);
  CHECK(result->nodes[0].why == "its agent ended without an answer: exited with status 3 (full)");
}

TEST_CASE("a command without a place for the host, without a program, or with an odd host") {
  for (const char* command : {"ssh n0", "", "ssh {host", "ssh '{host}"}) {
    const auto made = HostsByCommand::make(command, {"n0"});
    INFO(command);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == Errc::kUsage);
    CHECK_FALSE(made.error().hint.empty());
  }
  for (const char* host :
       {"n0;id", "$(id)", "-oProxyCommand=x", "n0 n1", "a/b", "", "n'0", "{host}"}) {
    INFO(host);
    const auto made = HostsByCommand::make("ssh {host}", {host});
    REQUIRE_FALSE(made);
    CHECK(made.error().what == "'" + std::string(host) + "' is not a host name");
  }
  CHECK(HostsByCommand::make("ssh {host}", {"eve@gpu-07.site_a", "fe80::1"}));
  CHECK_FALSE(HostsByCommand::make("ssh {host}", {}));
  const auto none = gather_by("no-such-program-anywhere {host}", {"n0"}, "");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::kNotFound);
  CHECK(none.error().what == "no-such-program-anywhere not found");
}

}  // namespace
}  // namespace oddrank::reach
