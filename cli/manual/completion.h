// Completion scripts for shells, made from the command line's own definitions.
//
// The command line as plain data, for man pages and completions. cli/parser.h makes it from the
// definitions that also parse the command line, so it cannot differ from the program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace oddrank::cli {

struct OptionText {
  std::vector<std::string> names;  // "-q", "--quiet"; an argument has one name: "PID"
  std::string value;               // "FILE"; "" = takes no value
  std::string help;
  std::string group;      // its section of the help
  bool required = false;  // an argument that must be given
  bool many = false;      // an argument that may be given several times
};

struct CommandText {
  std::string name;
  std::string help;
  std::string footer;                 // further paragraphs, and examples
  std::vector<OptionText> arguments;  // in their order
  std::vector<OptionText> options;
};

struct CommandTree {
  std::string program;
  std::string version;
  std::string help;
  std::string footer;
  std::vector<OptionText> options;  // they may also follow a command
  std::vector<CommandText> commands;
};

// Values that only the program can list; the scripts run `oddrank complete jobs` for them.
inline constexpr const char* kCompleteJobs = "jobs";
inline constexpr const char* kCompleteRanks = "ranks";

// Returns the script for `shell`: "bash", "zsh" or "fish". kUsage: another shell.
Result<std::string> completion_script(const CommandTree& tree, const std::string& shell);

}  // namespace oddrank::cli
