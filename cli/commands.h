// The subcommands. Each adds itself to the parser; what it returns is oddrank's exit status.
#pragma once

#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace oddrank::cli {

// Filled by the subcommand that was chosen; run by main after parsing.
using Action = std::function<int()>;

void add_job_command(CLI::App& app, Action& action);
void add_node_command(CLI::App& app, Action& action);
void add_core_command(CLI::App& app, Action& action);
void add_report_command(CLI::App& app, Action& action);
void add_fr_command(CLI::App& app, Action& action);
void add_hosts_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);
void add_agent_command(CLI::App& app, Action& action);

// Somebody else's command line, after "--": no parser of ours touches it.
struct CommandLine {
  char** argv = nullptr;             // ends with a null pointer; null: no "--" was given
  bool ignored_broken_pipe = false;  // whether we were started with SIGPIPE ignored
};
void add_watch_command(CLI::App& app, Action& action, const CommandLine& command_line);

}  // namespace oddrank::cli
