// Options that mean the same in every subcommand.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace oddrank::cli {

class Command;

struct OutputOptions {
  std::string json;  // "" = not wanted, "-" = stdout
  std::string html;
  std::string save;
  std::string folded;
  std::string speedscope;
  std::string dot;
  bool all_threads = false;
  bool full_stacks = false;
  bool locals = false;
  bool quiet = false;  // the verdict's sentence alone
};

struct CaptureOptions {
  int samples = 2;  // one cannot tell stuck from slow
  std::chrono::milliseconds interval{500};
  std::chrono::milliseconds timeout{20000};  // of each process and of each node
  bool native = true;
  bool python = true;
  bool stop = true;     // threads that run, for a moment, to read their stacks
  bool locals = false;  // of every Python thread and kind, not only what the diagnosis needs
  bool tasks = false;   // of asyncio
  bool ras = true;      // ask NCCL's RAS service, where ranks have one
  bool beside = true;   // dumps, logs, hardware and RAS beside the stacks
  std::vector<std::string> fr;  // dumps of flight recorders that the user names
  bool inlines = false;         // inlined frames and source lines, from DWARF
};

void add_output_options(Command& command, OutputOptions& options);
void add_capture_options(Command& command, CaptureOptions& options);
// Those that make sense for core files, which do not change.
void add_core_options(Command& command, CaptureOptions& options);
// --fr, also for captures that were made before.
void add_fr_option(Command& command, std::vector<std::string>& patterns);
// --locals: where a command both reads and prints, it asks for both.
void add_locals_option(Command& command, std::vector<bool*> wanted);

// --ssh: the program, with options of the user's.
void add_ssh_option(Command& command, std::string& ssh);
std::vector<std::string> command_words(const std::string& text);

// The same capture options as arguments of `oddrank agent` on another node.
std::vector<std::string> agent_arguments(const CaptureOptions& options);

}  // namespace oddrank::cli
