// The command line as plain data, made from the definitions that also parse it, so that man pages
// and completions cannot differ from the program (cli/parser.h makes it).
#pragma once

#include <string>
#include <vector>

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

}  // namespace oddrank::cli
