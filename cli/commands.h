// The subcommands. Each adds itself to the parser; its action returns oddrank's exit status.
#pragma once

namespace oddrank::cli {

class Parser;

void add_job_command(Parser& parser);
void add_node_command(Parser& parser);
void add_core_command(Parser& parser);
void add_report_command(Parser& parser);
void add_fr_command(Parser& parser);
void add_hosts_command(Parser& parser);
void add_kube_command(Parser& parser);
void add_doctor_command(Parser& parser);
void add_demo_command(Parser& parser);
void add_agent_command(Parser& parser);
// Adds man, completion and complete (for completion scripts). They describe everything that
// `parser` has when they run.
void add_manual_commands(Parser& parser);

// The user's own command, after "--". It never goes through our parser.
struct CommandLine {
  char** argv = nullptr;             // ends with a null pointer; null: no "--" was given
  bool ignored_broken_pipe = false;  // whether we were started with SIGPIPE ignored
};
// Adds watch, which may run beside the user's command.
void add_watch_command(Parser& parser, const CommandLine& command_line);

}  // namespace oddrank::cli
