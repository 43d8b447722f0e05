#include "cli/manual/man_page.h"

#include <algorithm>
#include <string_view>

#include "base/split.h"

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

}  // namespace

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

}  // namespace oddrank::cli
