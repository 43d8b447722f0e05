#include "cli/parser.h"

#include <array>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/parse_number.h"
#include "cli/exit_status.h"

namespace oddrank::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::array<std::pair<std::string_view, long>, 4> kUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}}};
// For any unit: agents get all times in milliseconds.
constexpr long kMaxMilliseconds = 1000000L * 3600000;

// Sets `duration` and returns "", or returns what is wrong with the text.
std::string parse_duration(const std::string& text, milliseconds& duration) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  const auto number = parse_number<long>(std::string_view(text).substr(0, digits));
  const std::string unit = digits == std::string::npos ? "s" : text.substr(digits);
  for (const auto& [name, factor] : kUnits) {
    if (number && unit == name && *number <= kMaxMilliseconds / factor) {
      duration = milliseconds(*number * factor);
      return "";
    }
  }
  return "'" + text + "' is not a time; write it like 500ms, 20s or 2m";
}

}  // namespace

Option& Option::value(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Option& Option::hidden() {
  return group("");
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::shows_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::between(std::size_t least, std::size_t most) {
  const std::string words = std::to_string(least) + " to " + std::to_string(most);
  option_->check(CLI::Range(least, most).description(words));
  return value("N");
}

Option& Option::positive() {
  // CLI11's own check prints its range with 300 digits.
  option_->check([](const std::string& text) {
    const auto number = parse_number<int>(text);
    return number && *number > 0 ? std::string() : "'" + text + "' is not a positive whole number";
  });
  return *this;
}

Option& Option::existing_folder() {
  option_->check(CLI::ExistingDirectory);
  return *this;
}

Option& Option::not_with(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::tells(std::function<void()> given) {
  option_->each([given = std::move(given)](const std::string&) { given(); });
  return *this;
}

Option& Option::repeatable() {
  option_->expected(1)->take_all();
  return *this;
}

Option Command::option(const std::string& name, std::string& value, const std::string& help) {
  return Option(*app_->add_option(name, value, help));
}

Option Command::option(const std::string& name,
                       std::vector<std::string>& values,
                       const std::string& help) {
  return Option(*app_->add_option(name, values, help));
}

Option Command::option(const std::string& name,
                       std::vector<pid_t>& values,
                       const std::string& help) {
  return Option(*app_->add_option(name, values, help));
}

Option Command::option(const std::string& name, int& value, const std::string& help) {
  return Option(*app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, std::size_t& value, const std::string& help) {
  return Option(*app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, milliseconds& value, const std::string& help) {
  CLI::Option* option = app_->add_option_function<std::string>(
      name,
      [&value, name](const std::string& text) {
        const std::string problem = parse_duration(text, value);
        if (!problem.empty()) {
          throw CLI::ValidationError(name, problem);  // caught by CLI11's own parse
        }
      },
      help);
  return Option(*option->type_name("TIME"));
}

Option Command::flag(const std::string& name, bool& value, const std::string& help) {
  if (name.front() == '!') {  // CLI11 also has such flags, but shows them as "--name{false}"
    return flag(
        name.substr(1), [&value] { value = false; }, help);
  }
  return Option(*app_->add_flag(name, value, help));
}

Option Command::flag(const std::string& name,
                     std::function<void()> given,
                     const std::string& help) {
  return Option(*app_->add_flag_callback(name, std::move(given), help));
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::runs(std::function<int()> action) {
  app_->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
}

Parser::Parser(const std::string& description,
               const std::string& footer,
               const std::string& version)
    : app_(std::make_unique<CLI::App>(description, "oddrank")) {
  app_->footer(footer);
  app_->set_version_flag("--version", version);
  app_->add_flag("-v,--verbose", verbosity_, "Print what is being done (-vv: more detail)");
  app_->require_subcommand(1);
  app_->fallthrough();
}

Parser::~Parser() = default;

Command Parser::command(const std::string& name, const std::string& help) {
  return Command(*app_->add_subcommand(name, help), chosen_);
}

// CLI11 answers an unknown subcommand only with "A subcommand is required".
bool Parser::is_unknown_command(int argc, char** argv) const {
  if (argc < 2 || argv[1][0] == '-') {
    return false;
  }
  std::string known;
  for (const CLI::App* command : app_->get_subcommands(nullptr)) {
    if (command->get_name() == argv[1]) {
      return false;
    }
    known += " " + command->get_name();
  }
  log_line(LogLevel::kError, "there is no command '" + std::string(argv[1]) +
                                 "'\n  hint: commands are" + known + "; see oddrank --help");
  return true;
}

Parser::Parsed Parser::parse(int argc, char** argv) {
  if (is_unknown_command(argc, argv)) {
    return {{}, kWrongUsage};
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {{}, app_->exit(error) == 0 ? kAllRead : kWrongUsage};
  }
  return {chosen_, kAllRead};
}

}  // namespace oddrank::cli
