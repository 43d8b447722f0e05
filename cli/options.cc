#include "cli/options.h"

#include <functional>
#include <optional>
#include <utility>

#include "base/split.h"
#include "cli/parser.h"

namespace oddrank::cli {
namespace {

void add_locals_options(Command& command, NodeCapture& capture, std::function<void()> given) {
  node::ReadOptions& read = capture.read;
  command
      .flag(
          "--locals",
          [&read, given = std::move(given)](std::optional<std::size_t> depth) {
            read.locals = cpython::Locals::kAll;
            read.contents.depth = static_cast<unsigned>(depth.value_or(read.contents.depth));
            given();
          },
          cpython::kMaxContentsDepth,
          "Read the local variables of all Python frames; they may contain private data. =DEPTH: "
          "how many levels of nested objects to show, 0 to 8 [2]; from 3 on also attributes. "
          "Otherwise only what the diagnosis needs is read")
      .value("[=DEPTH]")
      .passed_on(capture.given)
      .group("Capture");
  command
      .flag("--addresses", read.contents.addresses,
            "Add the address of each object to --locals: the same address is the same object")
      .passed_on(capture.given)
      .group("Capture");
}

}  // namespace

void add_output_options(Command& command, OutputOptions& options) {
  const std::string group = "Output ('-' is stdout)";
  const auto file = [&](const char* name, std::string& path, const char* help) {
    command.option(name, path, help).value("FILE").group(group);
  };
  file("--json", options.json, "Write the report as JSON (format 1)");
  file("--html", options.html, "Write the report as one HTML page");
  file("--save", options.save, "Save the capture, for `oddrank report`");
  file("--folded", options.folded, "Write folded stacks for flame graphs");
  file("--speedscope", options.speedscope, "Write the stacks of all ranks for speedscope");
  file("--dot", options.dot, "Write the wait-for graph and the tree of stacks for Graphviz");
  add_mode_option(command, options.mode);
  command.flag("--all-threads", options.all_threads, "Show idle threads too").group(group);
  command.flag("--full-stacks", options.full_stacks, "Show every frame, including internal ones")
      .group(group);
  command
      .flag("--explain", options.explain,
            "Add how the verdict was reached: facts with their strength, both runs of the solver, "
            "and what was not used")
      .group(group);
  command
      .flag("--redact", options.redact,
            "Replace hosts, addresses, users and home folders by numbers and drop local variables, "
            "in all outputs and the saved capture")
      .group(group);
  command.flag("-q,--quiet", options.quiet, "Print only the verdict's sentence").group(group);
}

void add_mode_option(Command& command, FileMode& mode) {
  command.option("--mode", mode, "Permissions of written files, which may hold private data [600]")
      .group("Output ('-' is stdout)");
}

void add_core_options(Command& command, NodeCapture& options) {
  const std::string group = "Capture";
  command
      .option("--timeout", options.timeout,
              "Time limit for each process and each node; one that does not answer in time is "
              "reported as not read [20s]")
      .passed_on(options.given)
      .group(group);
  command.flag("!--no-native", options.read.native, "Read Python frames only")
      .passed_on(options.given)
      .group(group);
  command.flag("!--no-python", options.read.python, "Read native frames only")
      .passed_on(options.given)
      .group(group);
  command
      .flag("--tasks", options.read.tasks,
            "Read tasks of asyncio and trio that have not ended, each with the chain of what it "
            "awaits, and "
            "parked greenlets")
      .passed_on(options.given)
      .group(group);
  command
      .flag("--inlines", options.inlines,
            "Show inlined frames and source lines of native code, from debug information; slower")
      .passed_on(options.given)
      .group(group);
}

void add_locals_options(Command& command, NodeCapture& capture, OutputOptions& output) {
  add_locals_options(command, capture, [&output] { output.locals = true; });
}

void add_locals_options(Command& command, NodeCapture& capture) {
  add_locals_options(command, capture, [] {});
}

void add_locals_output(Command& command, OutputOptions& output) {
  command.flag("--locals", output.locals, "Show the local variables that the capture has")
      .group("Capture");
}

Option add_fr_option(Command& command, std::vector<std::string>& patterns) {
  return command
      .option("--fr", patterns,
              "Also read these dumps of PyTorch's flight recorder: file, folder or pattern; dumps "
              "in PyTorch's default place are found without this option")
      .value("GLOB")
      .repeatable()
      .group("Capture");
}

void add_capture_options(Command& command, NodeCapture& options) {
  const std::string group = "Capture";
  const auto fixed = [&options] { options.until_decided = false; };
  command
      .option("--samples", options.samples,
              "Number of samples, 1 to 100 [2, and up to 5 in 10 s until it is clear whether the "
              "ranks move]; "
              "one alone cannot tell stuck from slow")
      .between(1, 100)
      .tells(fixed)
      .passed_on(options.given)
      .group(group);
  command
      .option("--interval", options.interval,
              "Time between samples [500ms, then growing]; the number of samples is then fixed")
      .tells(fixed)
      .passed_on(options.given)
      .group(group);
  command
      .flag("!--never-stop", options.read.stop,
            "Do not pause threads that are running while their stacks are copied; such stacks "
            "have no native frames")
      .passed_on(options.given)
      .group(group);
  add_fr_option(command, options.fr).passed_on(options.given);
  command
      .option("--fr-memory", options.read.newest_calls,
              "How many of the newest calls of each group to keep from flight recorders in memory, "
              "and four times as many sends and receives [64]; 0 keeps all")
      .value("N")
      .passed_on(options.given)
      .group(group);
  command.flag("!--no-ras", options.ras, "Do not ask NCCL's RAS service")
      .passed_on(options.given)
      .group(group);
  add_core_options(command, options);
}

void add_send_option(Command& command, std::string& folder) {
  command
      .option("--send-to", folder,
              "Node-local folder that oddrank is copied into where it is missing [/tmp, /dev/shm, "
              "$TMPDIR or /run/user/UID]")
      .value("DIR");
}

std::vector<std::string> command_words(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : split_blanks(text)) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace oddrank::cli
