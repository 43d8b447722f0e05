#include "cli/options.h"

#include <array>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::array<std::pair<std::string_view, long>, 4> kUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}}};

std::string text_of(milliseconds duration) {
  return std::to_string(duration.count()) + "ms";
}

}  // namespace

// Returns the problem, "" if there is none: that is what CLI11 wants of a validator.
std::string parse_duration(const std::string& text, milliseconds& duration) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  const auto number = parse_number<long>(std::string_view(text).substr(0, digits));
  const std::string unit = digits == std::string::npos ? "s" : text.substr(digits);
  for (const auto& [name, factor] : kUnits) {
    if (number && unit == name && *number <= 1000000) {
      duration = milliseconds(*number * factor);
      return "";
    }
  }
  return "'" + text + "' is no time; write it like 500ms, 20s or 2m";
}

void add_duration(CLI::App& app,
                  const std::string& name,
                  milliseconds& value,
                  const std::string& help,
                  const std::string& group) {
  app.add_option_function<std::string>(
         name,
         [&value, name](const std::string& text) {
           const std::string problem = parse_duration(text, value);
           if (!problem.empty()) {
             throw CLI::ValidationError(name, problem);  // caught by CLI11's own parse
           }
         },
         help)
      ->type_name("TIME")
      ->group(group);
}

void add_output_options(CLI::App& app, OutputOptions& options) {
  const std::string group = "Output ('-' is stdout)";
  app.add_option("--json", options.json, "Write the report as JSON, format 1")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--html", options.html, "Write the report as one page for a browser")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--save", options.save, "Write the capture, for `oddrank report`")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--folded", options.folded, "Write folded stacks, for flame graphs")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--speedscope", options.speedscope, "Write the stacks of all ranks for speedscope")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--dot", options.dot, "Write the wait-for graph for Graphviz")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--all-threads", options.all_threads, "Show idle threads, too")->group(group);
  app.add_flag("--full-stacks", options.full_stacks, "Show every frame, also internals")
      ->group(group);
  app.add_flag("-q,--quiet", options.quiet, "Print the verdict's sentence alone")->group(group);
}

void add_core_options(CLI::App& app, CaptureOptions& options) {
  const std::string group = "Capture";
  add_duration(app, "--timeout", options.timeout,
               "For each process and each node; what has not answered by then becomes a row of "
               "the report [20s]",
               group);
  app.add_flag("!--no-native", options.native, "Python frames only")->group(group);
  app.add_flag("!--no-python", options.python, "Native frames only")->group(group);
  app.add_flag("--tasks", options.tasks,
               "Tasks of asyncio that have not ended, each with the chain of what it awaits")
      ->group(group);
  app.add_flag("--inlines", options.inlines,
               "Inlined frames and source lines of native code, from debug information; slower")
      ->group(group);
}

void add_locals_option(CLI::App& app, std::vector<bool*> wanted) {
  app.add_flag_callback(
         "--locals",
         [wanted = std::move(wanted)] {
           for (bool* one : wanted) {
             *one = true;
           }
         },
         "Local variables of all Python frames, with lists, dicts and shapes of arrays; they may "
         "hold what is private. Without it only what the diagnosis needs is read")
      ->group("Capture");
}

void add_fr_option(CLI::App& app, std::vector<std::string>& patterns) {
  app.add_option(
         "--fr", patterns,
         "Dumps of PyTorch's flight recorder to read besides: file, folder or pattern; those "
         "that lie where PyTorch writes them are found without")
      ->type_name("GLOB")
      ->expected(1)
      ->take_all()
      ->group("Capture");
}

void add_capture_options(CLI::App& app, CaptureOptions& options) {
  const std::string group = "Capture";
  app.add_option("--samples", options.samples, "How often to look: one cannot tell stuck from slow")
      ->check(CLI::Range(1, 100))
      ->capture_default_str()
      ->group(group);
  add_duration(app, "--interval", options.interval, "Between two looks [500ms]", group);
  app.add_flag("!--never-stop", options.stop,
               "Never stop a thread, not even one that runs, for the time that copying its stack "
               "takes; such a stack stays without native frames")
      ->group(group);
  add_fr_option(app, options.fr);
  app.add_flag("!--no-ras", options.ras, "Do not ask NCCL's RAS service")->group(group);
  add_core_options(app, options);
}

std::vector<std::string> agent_arguments(const CaptureOptions& options) {
  std::vector<std::string> arguments = {"--samples",  std::to_string(options.samples),
                                        "--interval", text_of(options.interval),
                                        "--timeout",  text_of(options.timeout)};
  if (!options.native) {
    arguments.emplace_back("--no-native");
  }
  if (!options.python) {
    arguments.emplace_back("--no-python");
  }
  if (!options.stop) {
    arguments.emplace_back("--never-stop");
  }
  if (options.locals) {
    arguments.emplace_back("--locals");
  }
  if (options.tasks) {
    arguments.emplace_back("--tasks");
  }
  if (options.inlines) {
    arguments.emplace_back("--inlines");
  }
  if (!options.ras) {
    arguments.emplace_back("--no-ras");
  }
  for (const std::string& pattern : options.fr) {
    arguments.insert(arguments.end(), {"--fr", pattern});
  }
  return arguments;
}

void add_ssh_option(CLI::App& app, std::string& ssh) {
  app.add_option("--ssh", ssh, "The ssh to use, with options of your own")
      ->type_name("COMMAND")
      ->capture_default_str();
}

std::vector<std::string> command_words(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : split_blanks(text)) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace oddrank::cli
