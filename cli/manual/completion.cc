#include "cli/manual/completion.h"

#include <array>
#include <string_view>
#include <utility>

namespace oddrank::cli {
namespace {

enum class ValueKind { kNone, kOther, kFile, kFolder, kJob, kRank };

ValueKind kind_of(std::string_view value) {
  constexpr std::array<std::pair<std::string_view, ValueKind>, 9> kKinds = {
      {{"", ValueKind::kNone},
       {"FILE", ValueKind::kFile},
       {"PATH", ValueKind::kFile},
       {"GLOB", ValueKind::kFile},
       {"CORE", ValueKind::kFile},
       {"CAPTURE", ValueKind::kFile},
       {"DIR", ValueKind::kFolder},
       {"JOBID", ValueKind::kJob},
       {"PID", ValueKind::kRank}}};
  for (const auto& [name, kind] : kKinds) {
    if (name == value) {
      return kind;
    }
  }
  return ValueKind::kOther;
}

bool is_dynamic(ValueKind kind) {
  return kind == ValueKind::kJob || kind == ValueKind::kRank;
}

std::string lister(ValueKind kind) {
  return std::string("oddrank complete ") +
         (kind == ValueKind::kJob ? kCompleteJobs : kCompleteRanks);
}

// Returns the first sentence or part of a help text, on one line: a list of choices has no room for
// more.
std::string brief(std::string_view help) {
  const std::size_t end = help.find_first_of(";[(");
  std::string text(help.substr(0, end));
  while (!text.empty() && text.back() == ' ') {
    text.pop_back();
  }
  return text;
}

std::string with_escapes(std::string_view text, std::string_view special, std::string_view before) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) {
      out += before;
    }
    out += c;
  }
  return out;
}

// In single quotes, for all three shells: a quote in the text becomes '\''.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

std::string names_of(const std::vector<OptionText>& options) {
  std::string out;
  for (const OptionText& option : options) {
    for (const std::string& name : option.names) {
      out += (out.empty() ? "" : " ") + name;
    }
  }
  return out;
}

std::string command_names(const CommandTree& tree, const char* between) {
  std::string out;
  for (const CommandText& command : tree.commands) {
    out += (out.empty() ? "" : between) + command.name;
  }
  return out;
}

// bash

std::string bash_action(ValueKind kind) {
  switch (kind) {
    case ValueKind::kFile:
      return "_oddrank_paths -f";
    case ValueKind::kFolder:
      return "_oddrank_paths -d";
    case ValueKind::kJob:
    case ValueKind::kRank:
      return "_oddrank_words \"$(" + lister(kind) + " 2>/dev/null | cut -f 1)\"";
    default:
      return ":";
  }
}

std::string bash_values(const CommandText& command) {
  std::string out;
  for (const OptionText& option : command.options) {
    if (kind_of(option.value) == ValueKind::kNone) {
      continue;
    }
    std::string names;
    for (const std::string& name : option.names) {
      names += (names.empty() ? "" : " | ") + command.name + ":" + name;
    }
    out += "    " + names + ") " + bash_action(kind_of(option.value)) + "; return ;;\n";
  }
  return out;
}

std::string bash_script(const CommandTree& tree) {
  std::string values;
  std::string words;
  for (const CommandText& command : tree.commands) {
    values += bash_values(command);
    const ValueKind argument = command.arguments.empty()
                                   ? ValueKind::kOther
                                   : kind_of(command.arguments.front().names.front());
    words += "    " + command.name + ")\n      case $word in\n        -*) _oddrank_words '" +
             names_of(command.options) + " " + names_of(tree.options) + "' ;;\n        *) " +
             bash_action(argument) + " ;;\n      esac\n      ;;\n";
  }
  return "# bash completion for oddrank; made by: oddrank completion bash\n"
         "_oddrank_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\"); }\n"
         "_oddrank_paths() {\n"
         "  compopt -o filenames 2>/dev/null\n"
         "  mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$word\")\n"
         "}\n"
         "_oddrank() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= i\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case ${COMP_WORDS[i]} in\n"
         "      --)\n"
         "        # The user's own command.\n"
         "        [ \"$command\" = watch ] || break\n"
         "        [ $i -lt $((COMP_CWORD - 1)) ] && _oddrank_paths -f || "
         "mapfile -t COMPREPLY < <(compgen -c -- \"$word\")\n"
         "        return\n"
         "        ;;\n"
         "      " +
         command_names(tree, " | ") +
         ") [ -n \"$command\" ] || command=${COMP_WORDS[i]} ;;\n"
         "    esac\n"
         "  done\n"
         "  case $command:$before in\n" +
         values +
         "  esac\n"
         "  case $command in\n"
         "    '') _oddrank_words '" +
         command_names(tree, " ") + " " + names_of(tree.options) + "' ;;\n" + words +
         "  esac\n"
         "}\n"
         "complete -F _oddrank oddrank\n";
}

// zsh

std::string zsh_action(ValueKind kind) {
  switch (kind) {
    case ValueKind::kFile:
      return "_files";
    case ValueKind::kFolder:
      return "_files -/";
    case ValueKind::kJob:
    case ValueKind::kRank:
      // The blank keeps _arguments from adding words of its own.
      return std::string(" _oddrank_values ") +
             (kind == ValueKind::kJob ? kCompleteJobs : kCompleteRanks);
    default:
      return " ";
  }
}

std::string zsh_option(const OptionText& option) {
  std::string out;
  const std::string help = "[" + with_escapes(brief(option.help), "[]:\\", "\\") + "]";
  for (const std::string& name : option.names) {
    std::string spec = name + help;
    if (!option.value.empty()) {
      spec += ":" + option.value + ":" + zsh_action(kind_of(option.value));
    }
    out += " \\\n        " + in_quotes("*" + spec);
  }
  return out;
}

std::string zsh_script(const CommandTree& tree) {
  std::string commands;
  std::string cases;
  for (const CommandText& command : tree.commands) {
    commands += "      " +
                in_quotes(command.name + ":" + with_escapes(brief(command.help), ":\\", "\\")) +
                "\n";
    cases += "    " + command.name + ")\n      _arguments";
    for (const OptionText& option : command.options) {
      cases += zsh_option(option);
    }
    for (const OptionText& argument : command.arguments) {
      const std::string& name = argument.names.front();
      cases += " \\\n        " + in_quotes("*:" + name + ":" + zsh_action(kind_of(name)));
    }
    if (command.name == "watch") {
      cases += " \\\n        '*::command:_normal'";
    }
    cases += "\n      ;;\n";
  }
  std::string options;
  for (const OptionText& option : tree.options) {
    options += zsh_option(option);
  }
  return "#compdef oddrank\n"
         "# zsh completion for oddrank; made by: oddrank completion zsh\n"
         "_oddrank_values() {\n"
         "  local -a values\n"
         "  values=(${(f)\"$(oddrank complete $1 2>/dev/null)\"})\n"
         "  values=(${values//:/\\\\:})\n"
         "  values=(${values/$'\\t'/:})\n"
         "  _describe $1 values\n"
         "}\n"
         "_oddrank() {\n"
         "  local context state state_descr line\n"
         "  typeset -A opt_args\n"
         "  local -a commands=(\n" +
         commands + "  )\n  _arguments -C" + options +
         " \\\n        '1:command:->command' \\\n        '*::argument:->argument'\n"
         "  case $state in\n"
         "    command) _describe command commands; return ;;\n"
         "  esac\n"
         "  case $line[1] in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _oddrank ]; then _oddrank \"$@\"; else compdef _oddrank "
         "oddrank; fi\n";
}

// fish

std::string fish_option(const OptionText& option, const std::string& condition) {
  std::string out = "complete -c oddrank" + condition;
  for (const std::string& name : option.names) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  const ValueKind kind = kind_of(option.value);
  if (is_dynamic(kind)) {
    out += " -x -a '(" + lister(kind) + " 2>/dev/null)'";
  } else if (kind == ValueKind::kFile) {
    out += " -r -F";
  } else if (kind == ValueKind::kFolder) {
    out += " -x -a '(__fish_complete_directories)'";
  } else if (kind == ValueKind::kOther) {
    out += " -x";
  }
  return out + " -d " + in_quotes(brief(option.help)) + "\n";
}

std::string fish_script(const CommandTree& tree) {
  std::string out =
      "# fish completion for oddrank; made by: oddrank completion fish\n"
      "complete -c oddrank -f\n";
  const std::string none = " -n 'not __fish_seen_subcommand_from " + command_names(tree, " ") + "'";
  for (const OptionText& option : tree.options) {
    out += fish_option(option, "");
  }
  for (const CommandText& command : tree.commands) {
    out += "complete -c oddrank" + none + " -a " + command.name + " -d " +
           in_quotes(brief(command.help)) + "\n";
    const std::string here = " -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const OptionText& argument : command.arguments) {
      const ValueKind kind = kind_of(argument.names.front());
      if (is_dynamic(kind)) {
        out += "complete -c oddrank" + here + " -a '(" + lister(kind) + " 2>/dev/null)'\n";
      } else if (kind == ValueKind::kFile) {
        out += "complete -c oddrank" + here + " -F\n";
      }
    }
    for (const OptionText& option : command.options) {
      out += fish_option(option, here);
    }
  }
  return out;
}

}  // namespace

Result<std::string> completion_script(const CommandTree& tree, const std::string& shell) {
  if (shell == "bash") {
    return bash_script(tree);
  }
  if (shell == "zsh") {
    return zsh_script(tree);
  }
  if (shell == "fish") {
    return fish_script(tree);
  }
  return fail(Errc::kUsage, "there is no completion for '" + shell + "'",
              "shells are bash, zsh and fish");
}

}  // namespace oddrank::cli
