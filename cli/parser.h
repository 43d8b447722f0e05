// The command line: subcommands, their options and help. Wraps the part of CLI11 that our commands
// need. Only parser.cc includes CLI11, which compiles slowly.
//
// Variables that options fill must live as long as the parser. Nothing here throws; mistakes in
// definitions (two options with one name) end the program at once.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/file_mode.h"
#include "cli/likely_meant.h"
#include "cli/manual/completion.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
class Option;
}  // namespace CLI

namespace oddrank::cli {

// An added option, to describe it further: command.option("--json", path, "...").value("FILE").
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option& value(const std::string& name);     // name of its value in the help: "FILE"
  Option& group(const std::string& heading);  // its section of the help
  Option& hidden();
  Option& required();
  Option& shows_default();
  Option& between(std::size_t least, std::size_t most);
  Option& positive();
  Option& existing_folder();
  Option& not_with(const Option& other);
  Option& tells(std::function<void()> given);  // called if the option is given
  // Appends the option to `words` as the user gave it ("--fr=A"), for the command line of an agent.
  Option& passed_on(std::vector<std::string>& words);
  Option& repeatable();  // "--fr A --fr B"; each takes one value

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App& app, std::function<int()>& chosen) : app_(&app), chosen_(&chosen) {}

  // `name`: "--name", "-n,--name", or "NAME" for a positional argument.
  Option option(const std::string& name, std::string& value, const std::string& help = "");
  Option option(const std::string& name,
                std::vector<std::string>& values,
                const std::string& help = "");
  Option option(const std::string& name, std::vector<pid_t>& values, const std::string& help = "");
  Option option(const std::string& name, int& value, const std::string& help = "");
  Option option(const std::string& name, std::size_t& value, const std::string& help = "");
  // Takes "500ms", "20s", "2m", "1h", or a plain number of seconds.
  Option option(const std::string& name,
                std::chrono::milliseconds& value,
                const std::string& help = "");
  // Takes the permissions of a file as octal digits: "640".
  Option option(const std::string& name, FileMode& value, const std::string& help = "");
  // `name`: "--name"; "!--no-ras" sets the value to false.
  Option flag(const std::string& name, bool& value, const std::string& help = "");
  Option flag(const std::string& name, std::function<void()> given, const std::string& help);
  // "--name" or "--name=NUMBER": calls the function with the number, if any. A number after a blank
  // is the next argument.
  Option flag(const std::string& name,
              std::function<void(std::optional<std::size_t>)> given,
              std::size_t most,
              const std::string& help);
  // "--name" or "--name=TEXT": calls the function with the text, or with "". It returns an error,
  // or "".
  Option flag(const std::string& name,
              std::function<std::string(const std::string&)> given,
              const std::string& help);

  void footer(const std::string& text);
  Command& hidden();  // leaves it out of the help
  // Sets what the program does if this command is given; `action` returns the exit status.
  void runs(std::function<int()> action);

 private:
  CLI::App* app_;
  std::function<int()>* chosen_;
};

class Parser {
 public:
  // `version` returns what --version prints.
  Parser(const std::string& description,
         const std::string& footer,
         std::function<std::string()> version);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  Parser(Parser&&) = delete;
  Parser& operator=(Parser&&) = delete;

  Command command(const std::string& name, const std::string& help);
  // Returns 1 for -v, 2 for -vv.
  int verbosity() const { return verbosity_; }

  // The action of the given command; or an exit status if there is nothing to run (after --help, or
  // after an error that was printed).
  struct Parsed {
    std::function<int()> action;
    int status = 0;
  };
  Parsed parse(int argc, char** argv);

  // Returns everything that is defined so far and not hidden.
  CommandTree tree() const;

 private:
  bool is_unknown_command(int argc, char** argv) const;
  std::optional<Mistake> mistake_in(std::span<char* const> words) const;
  std::string example_for(std::span<char* const> words) const;

  std::unique_ptr<CLI::App> app_;
  std::function<int()> chosen_;
  int verbosity_ = 0;
};

}  // namespace oddrank::cli
