#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "cli/commands.h"
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "node/watch_sample.h"
#include "slurm/client.h"
#include "slurm/own_job.h"
#include "snapshot/jobs/jobs.h"

namespace oddrank::cli {
namespace {

constexpr unsigned kPublicFile = 0644;

int print(const std::string& text) {
  return write_output("-", text, FileMode{}) ? kAllRead : kToolFault;
}

// Writes the pages of all commands: what packages install.
int write_pages(const CommandTree& tree, const std::string& folder) {
  FileMode mode;
  mode.bits = kPublicFile;
  bool written = write_output(folder + "/" + tree.program + ".1", man_page(tree), mode);
  for (const CommandText& command : tree.commands) {
    written &= write_output(folder + "/" + tree.program + "-" + command.name + ".1",
                            man_page(tree, command), mode);
  }
  return written ? kAllRead : kToolFault;
}

int run_man(const Parser& parser, const std::string& name, const std::string& folder) {
  const CommandTree tree = parser.tree();
  if (!folder.empty()) {
    return write_pages(tree, folder);
  }
  if (name.empty()) {
    return print(man_page(tree));
  }
  const auto command = std::find_if(tree.commands.begin(), tree.commands.end(),
                                    [&name](const CommandText& one) { return one.name == name; });
  if (command == tree.commands.end()) {
    return report_error(
        {Errc::kUsage, "there is no command '" + name + "'", "oddrank --help lists the commands"});
  }
  return print(man_page(tree, *command));
}

int run_completion(const Parser& parser, const std::string& shell) {
  const auto script = completion_script(parser.tree(), shell);
  return script ? print(*script) : report_error(script.error());
}

// Prints a value and a description a line. A shell that completes a word has no place for errors:
// if something fails, nothing is listed.
int run_complete(const std::string& kind) {
  std::string lines;
  if (kind == kCompleteJobs) {
    const auto jobs = slurm::own_running_jobs(Deadline::after(slurm::kClientTimeout));
    for (const slurm::OwnJob& job : jobs ? *jobs : std::vector<slurm::OwnJob>()) {
      lines += job.id + "\t" + job.name + " on " + job.hosts + "\n";
    }
  } else if (kind == kCompleteRanks) {
    const auto found = node::find_ranks("");
    for (const auto& process : found ? found->processes : std::vector<snapshot::ProcessCapture>()) {
      if (process.is_rank) {
        lines += std::to_string(process.pid) + "\trank " + std::to_string(process.rank) + "\n";
      }
    }
  }
  return print(lines);
}

}  // namespace

void add_manual_commands(Parser& parser) {
  auto page = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  Command man = parser.command("man", "Print the man page of oddrank or of a command");
  man.option("COMMAND", *page, "The command; without it, the page of oddrank itself");
  man.option("--into", *folder, "Write the pages of all commands into this folder").value("DIR");
  man.footer(
      "Examples:\n"
      "  oddrank man | man -l -         read it\n"
      "  oddrank man node | man -l -    the options of one command");
  man.runs([&parser, page, folder] { return run_man(parser, *page, *folder); });

  auto shell = std::make_shared<std::string>();
  Command completion =
      parser.command("completion", "Print a completion script for bash, zsh or fish");
  completion.option("SHELL", *shell, "bash, zsh or fish").required();
  completion.footer(
      "The scripts complete commands, options, files, the ids of your running jobs and the pids "
      "of\n"
      "ranks.\n\n"
      "Examples:\n"
      "  source <(oddrank completion bash)    this shell; in ~/.bashrc all shells\n"
      "  oddrank completion zsh > /usr/local/share/zsh/site-functions/_oddrank\n"
      "  oddrank completion fish > ~/.config/fish/completions/oddrank.fish");
  completion.runs([&parser, shell] { return run_completion(parser, *shell); });

  auto kind = std::make_shared<std::string>();
  Command complete = parser.command("complete", "Print values for completion scripts");
  complete.option("KIND", *kind).required();
  complete.hidden();
  complete.runs([kind] { return run_complete(*kind); });
}

}  // namespace oddrank::cli
