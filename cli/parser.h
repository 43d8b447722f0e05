// The command line: subcommands, their options and help. What CLI11 does for us, in the few words
// that our commands need; it is included by parser.cc alone, since reading it takes a compiler
// longer than most files.
//
// Everything that an option fills must live as long as the parser. Nothing here throws; mistakes of
// ours (two options of one name) end the program at once.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
class Option;
}  // namespace CLI

namespace oddrank::cli {

// What was added, to say more of it: command.option("--json", path, "...").value("FILE").
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option& value(const std::string& name);     // what it takes, in the help: "FILE"
  Option& group(const std::string& heading);  // where it stands in the help
  Option& hidden();
  Option& required();
  Option& shows_default();
  Option& between(std::size_t least, std::size_t most);
  Option& positive();
  Option& existing_folder();
  Option& not_with(const Option& other);
  Option& repeatable();  // "--fr A --fr B"; each takes one value

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App& app, std::function<int()>& chosen) : app_(&app), chosen_(&chosen) {}

  // "--name", "-n,--name", or "NAME" for what stands by itself.
  Option option(const std::string& name, std::string& value, const std::string& help = "");
  Option option(const std::string& name,
                std::vector<std::string>& values,
                const std::string& help = "");
  Option option(const std::string& name, std::vector<pid_t>& values, const std::string& help = "");
  Option option(const std::string& name, int& value, const std::string& help = "");
  Option option(const std::string& name, std::size_t& value, const std::string& help = "");
  // "500ms", "20s", "2m", "1h", or a plain number of seconds.
  Option option(const std::string& name,
                std::chrono::milliseconds& value,
                const std::string& help = "");
  // "!--no-ras": sets it to false.
  Option flag(const std::string& name, bool& value, const std::string& help = "");
  Option flag(const std::string& name, std::function<void()> given, const std::string& help);

  void footer(const std::string& text);
  // What the program does where this command is given; returns its exit status.
  void runs(std::function<int()> action);

 private:
  CLI::App* app_;
  std::function<int()>* chosen_;
};

class Parser {
 public:
  Parser(const std::string& description, const std::string& footer, const std::string& version);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  Parser(Parser&&) = delete;
  Parser& operator=(Parser&&) = delete;

  Command command(const std::string& name, const std::string& help);
  // -v, -vv.
  int verbosity() const { return verbosity_; }

  // What the given command does. Where there is none to run (--help, or a wrong command line, of
  // which the user is told), an exit status.
  struct Parsed {
    std::function<int()> action;
    int status = 0;
  };
  Parsed parse(int argc, char** argv);

 private:
  bool is_unknown_command(int argc, char** argv) const;

  std::unique_ptr<CLI::App> app_;
  std::function<int()> chosen_;
  int verbosity_ = 0;
};

}  // namespace oddrank::cli
