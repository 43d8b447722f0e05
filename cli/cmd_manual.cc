#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/split.h"
#include "cli/commands.h"
#include "cli/manual/completion.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "node/watch_sample.h"
#include "slurm/client.h"
#include "slurm/own_job.h"
#include "snapshot/jobs/jobs.h"

namespace oddrank::cli {
namespace {

constexpr std::string_view kExamples = "Examples:\n";

// Returns the text as roff prints it unchanged: a line that begins with '.' or '\'' is no request,
// a '-' is not a hyphen (which could not be pasted).
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += "\\&";
    }
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '`':
        out += "\\`";
        break;
      case '\'':
        out += "\\(aq";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string section(std::string_view name) {
  return ".SH " + std::string(name) + "\n";
}

std::string literally(std::string_view text) {
  return ".nf\n" + roff(text) + "\n.fi\n";
}

// Returns the option's names and value: "\fB\-q\fR, \fB\-\-quiet\fR", "\fB\-\-json\fR \fIFILE\fR".
std::string heading(const OptionText& option) {
  std::string out;
  for (const std::string& name : option.names) {
    const bool is_argument = name.front() != '-';
    out += (out.empty() ? "" : ", ") + std::string(is_argument ? "\\fI" : "\\fB") + roff(name) +
           "\\fR";
  }
  return option.value.empty() ? out : out + " \\fI" + roff(option.value) + "\\fR";
}

std::string entry(const OptionText& option) {
  return ".TP\n" + heading(option) + "\n" + roff(option.help) + "\n";
}

std::string option_sections(const std::vector<OptionText>& options) {
  std::string out = section("OPTIONS");
  std::string group;
  for (const OptionText& option : options) {
    if (option.group != group && option.group != "Options") {
      out += ".SS " + roff(option.group) + "\n";
    }
    group = option.group;
    out += entry(option);
  }
  return out;
}

// Returns the footer's paragraphs; the examples have a section of their own.
std::string footer_sections(std::string_view footer) {
  std::string notes(footer);
  std::string examples;
  if (const std::size_t at = notes.find(kExamples); at != std::string::npos) {
    const std::size_t end = std::min(notes.find("\n\n", at), notes.size());
    examples = notes.substr(at + kExamples.size(), end - at - kExamples.size());
    notes.erase(at, end - at);
  }
  std::string out;
  if (const std::string_view text = trim(notes); !text.empty()) {
    out += section("NOTES") + literally(text);
  }
  if (!examples.empty()) {
    out += section("EXAMPLES") + literally(examples);
  }
  return out;
}

std::string title(const CommandTree& tree, const std::string& page) {
  return ".TH \"" + roff(page) + "\" 1 \"\" \"" + roff(tree.program + " " + tree.version) +
         "\" \"User Commands\"\n.nh\n.ad l\n";
}

std::string name_section(const std::string& page, const std::string& help) {
  return section("NAME") + roff(page) + " \\- " + roff(help) + "\n";
}

std::string synopsis(const CommandTree& tree, const CommandText& command) {
  std::string out = section("SYNOPSIS") + "\\fB" + roff(tree.program + " " + command.name) +
                    "\\fR [\\fIOPTION\\fR]...";
  for (const OptionText& argument : command.arguments) {
    const std::string name =
        "\\fI" + roff(argument.names.front()) + "\\fR" + (argument.many ? "..." : "");
    out += argument.required ? " " + name : " [" + name + "]";
  }
  return out + "\n";
}

// Returns the page of the program, which lists its commands: oddrank(1). In the macros of man(7).
std::string man_page(const CommandTree& tree) {
  const std::string first = tree.help.substr(0, tree.help.find('\n'));
  std::string out =
      title(tree, tree.program) + name_section(tree.program, first.substr(first.find(": ") + 2)) +
      section("SYNOPSIS") + "\\fB" + roff(tree.program) +
      "\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n" + section("DESCRIPTION") +
      roff(trim(std::string_view(tree.help).substr(first.size()))) + "\n" + section("COMMANDS");
  for (const CommandText& command : tree.commands) {
    out += ".TP\n\\fB" + roff(command.name) + "\\fR\n" + roff(command.help) + "; see \\fB" +
           roff(tree.program + "-" + command.name) + "\\fR(1)\n";
  }
  return out + option_sections(tree.options) + footer_sections(tree.footer);
}

// Returns the page of one command: oddrank-node(1).
std::string man_page(const CommandTree& tree, const CommandText& command) {
  const std::string page = tree.program + "-" + command.name;
  std::string out = title(tree, page) + name_section(page, command.help) + synopsis(tree, command);
  if (!command.arguments.empty()) {
    out += section("ARGUMENTS");
    for (const OptionText& argument : command.arguments) {
      out += entry(argument);
    }
  }
  return out + option_sections(command.options) + footer_sections(command.footer) +
         section("SEE ALSO") + "\\fB" + roff(tree.program) + "\\fR(1)\n";
}

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
