// Options that mean the same in every subcommand.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/file_mode.h"
#include "node/read_options.h"
#include "serve/listen_address.h"

namespace oddrank::cli {

class Command;
class Option;

// How nodes are captured, and the user's options for it as given, for the agents.
struct NodeCapture : node::CaptureOptions {
  std::vector<std::string> given;
};

struct OutputOptions {
  std::string json;  // "" = not wanted, "-" = stdout
  std::string html;
  std::string save;
  std::string folded;
  std::string speedscope;
  std::string dot;
  FileMode mode;  // of each file
  bool all_threads = false;
  bool full_stacks = false;
  bool locals = false;
  bool explain = false;                           // how the verdict was reached
  bool quiet = false;                             // only the verdict's sentence
  bool redact = false;                            // all outputs, also the saved capture
  std::optional<std::size_t> repeat_s;            // the pause between captures; none: one capture
  std::function<void(const std::string&)> print;  // if set, takes the text instead of stdout
  std::optional<serve::ListenAddress> serve;      // shows the reports there instead of on stdout
  // If set, takes the HTML report and its sentence.
  std::function<void(std::string page, std::string sentence)> take_page;
};

// Adds --json, --html, --save and the other options of outputs.
void add_output_options(Command& command, OutputOptions& options);
// Adds --mode.
void add_mode_option(Command& command, FileMode& mode);
// Adds --timeout, --samples and the other options of captures.
void add_capture_options(Command& command, NodeCapture& options);
// Adds the capture options that make sense for core files, which do not change.
void add_core_options(Command& command, NodeCapture& options);
// Adds --fr, which also works on saved captures.
Option add_fr_option(Command& command, std::vector<std::string>& patterns);
// Adds --locals[=DEPTH] and --addresses.
void add_locals_options(Command& command, NodeCapture& capture);
// Adds both for a command that reads and prints.
void add_locals_options(Command& command, NodeCapture& capture, OutputOptions& output);
// Adds --locals for a command that only prints.
void add_locals_output(Command& command, OutputOptions& output);

// Adds --send-to.
void add_send_option(Command& command, std::string& folder);
// Splits a command line that an option holds at its blanks.
std::vector<std::string> command_words(const std::string& text);

}  // namespace oddrank::cli
