// oddrank: which rank holds the job up, and why?

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base_name.h"
#include "base/deadline.h"
#include "base/log.h"
#include "base/shell_words.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/exit_status.h"
#include "cli/parser.h"
#include "cli/version_text.h"
#include "node/watch_sample.h"
#include "slurm/own_job.h"
#include "snapshot/jobs/jobs.h"

namespace oddrank::cli {
namespace {

constexpr std::chrono::milliseconds kAskPatience{5000};
constexpr std::size_t kMaxListed = 5;

std::string step(const std::string& command, const std::string& why) {
  constexpr std::size_t kColumn = 26;
  const std::string padding(command.size() < kColumn ? kColumn - command.size() : 1, ' ');
  return "\n  " + command + padding + why;
}

std::string job_steps() {
  if (const std::string job = own_variable("SLURM_JOB_ID"); !job.empty()) {
    return step("oddrank job " + shell_quoted(job), "the job that this shell is in");
  }
  const auto jobs = slurm::own_running_jobs(Deadline::after(kAskPatience));
  if (!jobs) {
    return "";  // mostly: there is no SLURM
  }
  std::string steps;
  for (std::size_t i = 0; i < jobs->size() && i < kMaxListed; ++i) {
    const slurm::OwnJob& job = (*jobs)[i];
    steps +=
        step("oddrank job " + shell_quoted(job.id), "your job " + job.name + " on " + job.hosts);
  }
  return steps;
}

std::string node_steps() {
  const auto found = node::find_ranks("");
  if (!found) {
    return "";
  }
  const auto ranks =
      std::count_if(found->processes.begin(), found->processes.end(),
                    [](const snapshot::ProcessCapture& process) { return process.is_rank; });
  const std::vector<std::string> keys = snapshot::job_keys(*found);
  if (ranks == 0) {
    return "";
  }
  const std::string are = ranks == 1 ? "1 rank runs" : std::to_string(ranks) + " ranks run";
  return keys.size() > 1 ? step("oddrank node --each",
                                are + " on this node, of " + std::to_string(keys.size()) + " jobs")
                         : step("oddrank node", are + " on this node");
}

// Returns the output of oddrank without a command: commands that the user could type (for this
// shell's job, else for the user's running jobs, and for the ranks of this node), and where the
// help is. Asks SLURM, if present; takes some seconds at most.
std::string first_steps() {
  const std::string present = job_steps() + node_steps();
  return (present.empty() ? step("oddrank demo", "a small job that hangs, and the report on it")
                          : present) +
         step("oddrank --help", "all commands, with examples");
}

constexpr const char* kDescription =
    "oddrank: which rank holds the job up, and why?\n\n"
    "Reads the stuck processes of a distributed training job, follows the waits from rank to rank\n"
    "and names the rank at the root, with the chain of evidence.";

constexpr const char* kFooter =
    "Examples:\n"
    "  oddrank job 4711                 a hung SLURM job, from a login node\n"
    "  oddrank job 4711 --json out.json --save out.odd\n"
    "  oddrank report out.odd           the verdict again, elsewhere\n"
    "  oddrank node                     all ranks on this node, without SLURM\n"
    "  oddrank node 31337               one process: Python and native frames in one stack\n"
    "  oddrank hosts n[0-3]             all ranks of these hosts, over ssh\n"
    "  oddrank doctor --job 4711        check before a hang that oddrank will work there\n"
    "  srun oddrank watch -- python train.py      notices a hang and prints the verdict\n"
    "  oddrank core core.*              the core files of a job, merged like its ranks\n"
    "  oddrank demo                     try it: a small job that hangs, and the report on it\n\n"
    "Exit status: 0 every expected rank was read, 3 the report is partial, 4 nothing could be "
    "read,\n"
    "2 wrong usage, 1 a fault of oddrank itself.\n\n"
    "oddrank COMMAND --help shows the options and examples of a command.";

// kubectl runs `kubectl oddrank JOB` as a program of this name: a link to ours.
constexpr std::string_view kKubectlPlugin = "kubectl-oddrank";

// Cuts `argc` to the arguments for our parser: in `oddrank watch ... -- CMD...` those before "--".
// An argument of CMD like "[1,2]" would not survive the parser.
CommandLine split_command(int& argc, char** argv) {
  CommandLine command;
  int at = 1;
  while (at < argc && argv[at][0] == '-') {
    ++at;
  }
  if (at >= argc || std::string_view(argv[at]) != "watch") {
    return command;
  }
  for (int i = at + 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") {
      command.argv = argv + i + 1;
      argc = i;
      break;
    }
  }
  return command;
}

using AddCommand = void (*)(Parser& parser);
constexpr std::array<std::pair<std::string_view, AddCommand>, 10> kCommands = {{
    {"job", add_job_command},
    {"node", add_node_command},
    {"hosts", add_hosts_command},
    {"kube", add_kube_command},
    {"core", add_core_command},
    {"report", add_report_command},
    {"fr", add_fr_command},
    {"doctor", add_doctor_command},
    {"demo", add_demo_command},
    {"agent", add_agent_command},
}};

// If the first word names a command, adds only that command: the options of all commands would take
// as long as the rest of the start, and be in the memory of each forked child. Otherwise adds all
// commands: any of them may be meant, or listed.
void add_commands(std::string_view first, Parser& parser, const CommandLine& command) {
  const auto only = std::ranges::find(kCommands, first, [](const auto& one) { return one.first; });
  if (only != kCommands.end()) {
    only->second(parser);
    return;
  }
  for (const auto& [name, add] : kCommands) {
    add(parser);
  }
  add_watch_command(parser, command);
  add_manual_commands(parser);
}

int run(int argc, char** argv, bool ignored_broken_pipe) {
  std::string kube = "kube";
  std::vector<char*> words(argv, argv + argc);
  if (argc > 0 && base_name(argv[0]) == kKubectlPlugin) {
    words.insert(words.begin() + 1, kube.data());
    ++argc;
  }
  words.push_back(nullptr);
  argv = words.data();
  CommandLine command = split_command(argc, argv);
  command.ignored_broken_pipe = ignored_broken_pipe;
  Parser parser(kDescription, kFooter, version_text);
  add_commands(argc > 1 ? argv[1] : "", parser, command);
  if (argc == 1) {
    log_line(LogLevel::kError, "no command given\n  hint: you could type" + first_steps());
    return kWrongUsage;
  }
  const Parser::Parsed parsed = parser.parse(argc, argv);
  if (!parsed.action) {
    return parsed.status;
  }
  set_log_level(parser.verbosity() == 0   ? LogLevel::kWarning
                : parser.verbosity() == 1 ? LogLevel::kInfo
                                          : LogLevel::kDebug);
  return parsed.action();
}

}  // namespace
}  // namespace oddrank::cli

int main(int argc, char** argv) {
  // If the reader of our output goes away, write() fails; a signal must not end us.
  const bool ignored_broken_pipe = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  // At a limit on the size of files, too.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return oddrank::cli::run(argc, argv, ignored_broken_pipe);
  } catch (const std::exception& error) {
    oddrank::log_line(oddrank::LogLevel::kError,
                      std::string("this is a fault of oddrank: ") + error.what());
    return oddrank::cli::kToolFault;
  }
}
