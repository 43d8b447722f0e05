#include "cli/parser.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/ascii.h"
#include "base/log.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/version.h"
#include "cli/exit_status.h"
#include "cli/likely_meant.h"

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

// CLI11's help, with texts that fit into a terminal. It indents what follows a line end.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;

 private:
  std::string fold(const std::string& text) const;
};

std::string HelpFormatter::fold(const std::string& text) const {
  constexpr std::size_t kWidth = 80;
  std::string folded;
  for (const std::string& line : wrap(text, kWidth - get_column_width())) {
    folded += (folded.empty() ? "" : "\n") + line;
  }
  return folded;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return fold(option->get_description());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  std::ostringstream out;
  CLI::detail::format_help(out, command->get_display_name(true), fold(command->get_description()),
                           get_column_width());
  return out.str();
}

// Words CLI11's "--samples: 1 required N missing" as "--samples needs a value: N".
std::string error_words(const CLI::App* /*app*/, const CLI::Error& error) {
  constexpr std::string_view kRequired = ": 1 required ";
  constexpr std::string_view kMissing = " missing";
  std::string text = error.what();
  const std::size_t at = text.find(kRequired);
  if (at != std::string::npos && text.ends_with(kMissing)) {
    text.resize(text.size() - kMissing.size());
    text.replace(at, kRequired.size(), " needs a value: ");
  }
  return "oddrank: error: " + text +
         "\n  hint: oddrank --help and oddrank COMMAND --help list the options\n";
}

// Returns the message with the user's own words on one line each: a line end in one must not begin
// what looks like another message.
std::string on_one_line(std::string message, std::span<char* const> words) {
  for (const std::string_view word : words) {
    const std::size_t at = contains(word, "\n") ? message.find(word) : std::string::npos;
    if (at != std::string::npos) {
      message.replace(at, word.size(), printable(word));
    }
  }
  return message;
}

// CLI11 writes "PID" as the name of an argument, and "TEXT" or "INT" as its value.
OptionText option_text(const CLI::Option& option) {
  OptionText text;
  text.help = option.get_description();
  text.group = option.get_group();
  text.required = option.get_required();
  text.many = option.get_expected_max() > 1;
  if (option.get_positional()) {
    text.names = {option.get_name(true)};
    return text;
  }
  for (const std::string& name : option.get_snames()) {
    text.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    text.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0) {
    text.value = option.get_type_name();
  }
  return text;
}

void add_options(const CLI::App& app,
                 std::vector<OptionText>& options,
                 std::vector<OptionText>* arguments) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) {
      continue;  // hidden
    }
    (option->get_positional() && arguments != nullptr ? *arguments : options)
        .push_back(option_text(*option));
  }
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
  option_->check(CLI::Range(least, most).description(""));  // the help names the range
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

Option& Option::passed_on(std::vector<std::string>& words) {
  const bool is_flag = option_->get_items_expected_max() == 0;
  option_->each([&words, is_flag, name = option_->get_name()](const std::string& value) {
    words.push_back(is_flag && value == "true" ? name : name + "=" + value);
  });
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

Option Command::option(const std::string& name, FileMode& value, const std::string& help) {
  CLI::Option* option = app_->add_option_function<std::string>(
      name,
      [&value, name](const std::string& text) {
        const auto bits = parse_number<unsigned>(text, 8);
        if (!bits || *bits > 0777) {
          throw CLI::ValidationError(name, "'" + text + "' is no file mode; write it like 640");
        }
        value.bits = *bits;
      },
      help);
  return Option(*option->type_name("OCTAL"));
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

Option Command::flag(const std::string& name,
                     std::function<void(std::optional<std::size_t>)> given,
                     std::size_t most,
                     const std::string& help) {
  auto value = std::make_shared<std::string>();  // CLI11 sets it to "true" without a number
  const auto take = [value, given = std::move(given), most](const std::string& text) {
    const auto number = parse_number<std::size_t>(text);
    if (text != "true" && (!number || *number > most)) {
      return "'" + text + "' is not a number from 0 to " + std::to_string(most);
    }
    given(text == "true" ? std::nullopt : number);
    return std::string();
  };
  return Option(*app_->add_flag(name, *value, help)->check(take));
}

Option Command::flag(const std::string& name,
                     std::function<std::string(const std::string&)> given,
                     const std::string& help) {
  auto value = std::make_shared<std::string>();  // CLI11 sets it to "true" without a text
  const auto take = [value, given = std::move(given)](const std::string& text) {
    return given(text == "true" ? "" : text);
  };
  return Option(*app_->add_flag(name, *value, help)->check(take));
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

Command& Command::hidden() {
  app_->group("");
  return *this;
}

void Command::runs(std::function<int()> action) {
  app_->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
}

Parser::Parser(const std::string& description,
               const std::string& footer,
               std::function<std::string()> version)
    : app_(std::make_unique<CLI::App>(description, "oddrank")) {
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->failure_message(error_words);
  app_->footer(footer);
  app_->set_version_flag("--version", std::move(version));
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
    known += command->get_group().empty() ? "" : " " + command->get_name();
  }
  const std::string hint = hint_for_number(argv[1]);
  log_line(LogLevel::kError,
           "there is no command '" + std::string(argv[1]) + "'\n  hint: " +
               (hint.empty() ? "commands are" + known + "; see oddrank --help" : hint));
  return true;
}

// CLI11 names the first argument that it does not understand, which may be one after the mistake.
std::optional<Mistake> Parser::mistake_in(std::span<char* const> words) const {
  std::vector<const CLI::App*> apps = {app_.get()};
  for (const char* word : words) {
    for (const CLI::App* command : app_->get_subcommands(nullptr)) {
      if (apps.size() == 1 && command->get_name() == word) {
        apps.push_back(command);
      }
    }
  }
  KnownOptions known;
  for (const CLI::App* app : apps) {
    for (const CLI::Option* option : app->get_options()) {
      auto& names = option->get_group().empty() ? known.hidden : known.shown;
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  return find_mistake(words, known);
}

// Returns the first example in the help of the command that lacks an argument; "" if its help has
// no examples.
std::string Parser::example_for(std::span<char* const> words) const {
  constexpr std::string_view kExamples = "Examples:\n  ";
  for (const CLI::App* command : app_->get_subcommands(nullptr)) {
    const std::string footer = command->get_footer();
    if (footer.starts_with(kExamples) &&
        std::find(words.begin(), words.end(), command->get_name()) != words.end()) {
      const std::string line =
          footer.substr(kExamples.size(), footer.find('\n', kExamples.size()) - kExamples.size());
      return line.substr(0, line.find("  "));
    }
  }
  return {};
}

CommandTree Parser::tree() const {
  CommandTree tree;
  tree.program = app_->get_name();
  tree.version = kVersion;
  tree.help = app_->get_description();
  tree.footer = app_->get_footer();
  add_options(*app_, tree.options, nullptr);
  for (const CLI::App* app : app_->get_subcommands(nullptr)) {
    if (app->get_group().empty()) {
      continue;  // hidden
    }
    CommandText command;
    command.name = app->get_name();
    command.help = app->get_description();
    command.footer = app->get_footer();
    add_options(*app, command.options, &command.arguments);
    tree.commands.push_back(std::move(command));
  }
  return tree;
}

Parser::Parsed Parser::parse(int argc, char** argv) {
  if (is_unknown_command(argc, argv)) {
    return {{}, kWrongUsage};
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::span<char* const> words(argv + 1, argv + argc);
    const auto mistake = error.get_exit_code() == 0 ? std::nullopt : mistake_in(words);
    if (mistake) {
      log_line(LogLevel::kError, mistake->what + "\n  hint: " + mistake->hint);
      return {{}, kWrongUsage};
    }
    if (const std::string example = example_for(words);
        error.get_name() == "RequiredError" && !example.empty()) {
      log_line(LogLevel::kError, std::string(error.what()) + "\n  hint: for example: " + example);
      return {{}, kWrongUsage};
    }
    // The message has what the user typed, which may come from others.
    std::ostringstream help;
    std::ostringstream complaint;
    const int status = app_->exit(error, help, complaint);
    std::cout << printable_text(help.str()) << std::flush;
    std::cerr << printable_text(on_one_line(complaint.str(), std::span(argv, argv + argc)));
    return {{}, status == 0 ? kAllRead : kWrongUsage};
  }
  return {chosen_, kAllRead};
}

}  // namespace oddrank::cli
