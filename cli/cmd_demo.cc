#include <poll.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/printable.h"
#include "base/shell_words.h"
#include "cli/commands.h"
#include "cli/demo/demo_job.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/terminal/interrupt.h"
#include "node/capture_node.h"

namespace oddrank::cli {
namespace {

constexpr std::chrono::milliseconds kHangPatience{60000};
constexpr std::chrono::milliseconds kDemoTimeout{20000};
constexpr int kLookForEnd = 100;  // ms

struct DemoOptions {
  bool keep = false;
  OutputOptions output;
};

void say_on_stderr(const std::string& text) {
  std::cerr << printable_text(text) << std::flush;
}

std::string pid_words(const DemoJob& job) {
  std::string words;
  for (const pid_t pid : job.pids()) {
    words += " " + std::to_string(pid);
  }
  return words;
}

Result<snapshot::Capture> capture_demo(const DemoJob& job) {
  node::NodeRequest request;
  request.pids = job.pids();
  node::CaptureOptions options;
  // The job has only just begun to hang, and will not move: although its waits are young, there is
  // no need to sample again.
  options.until_decided = false;
  options.timeout = kDemoTimeout;
  options.beside = false;  // dumps, logs and devices of this machine belong to other jobs
  return node::capture_node(request, options);
}

// Lets the job hang until it is told to go on, or we are told to end.
void keep_hanging(DemoJob& job, const std::atomic<int>& ended) {
  say_on_stderr("\nThe job still hangs. In another terminal:\n  oddrank node" + pid_words(job) +
                "\n  echo data >" + shell_quoted(job.pipe()) +
                "   # the missing data: the job finishes\nCtrl-C here ends it.\n");
  while (ended == 0 && !job.has_ended()) {
    ::poll(nullptr, 0, kLookForEnd);
  }
}

// Returns the exit status; nullopt if a signal came before the report.
std::optional<int> show_demo(DemoJob& job,
                             const DemoOptions& options,
                             const std::atomic<int>& ended) {
  if (const Status hung = job.wait_until_hung(Deadline::after(kHangPatience), ended); !hung) {
    return report_error(hung.error());
  }
  if (ended != 0) {
    return std::nullopt;
  }
  say_on_stderr("A job of 4 Python processes hangs: pids" + pid_words(job) + ", " + job.script() +
                "\nThe report of `oddrank node` on it:\n\n");
  const auto capture = capture_demo(job);
  if (!capture) {
    return report_error(capture.error());
  }
  if (ended != 0) {
    return std::nullopt;
  }
  const ExitStatus status = deliver(*capture, options.output);
  if (options.keep) {
    keep_hanging(job, ended);
  }
  return status;
}

int run_demo(const DemoOptions& options) {
  if (const Status outputs = check_outputs(options.output); !outputs) {
    return report_error(outputs.error());
  }
  const std::atomic<int>& ended = *catch_ending_signals();
  std::optional<int> status;
  {
    auto job = DemoJob::start();
    if (!job) {
      return report_error(job.error());
    }
    status = show_demo(*job, options, ended);
  }
  if (!status) {
    end_by_signal(ended);
  }
  say_on_stderr("\nThe processes of the demo have ended.\n");
  return status.value_or(kToolFault);
}

}  // namespace

void add_demo_command(Parser& parser) {
  auto options = std::make_shared<DemoOptions>();
  Command command = parser.command(
      "demo", "Try oddrank: start a small job that hangs, print the report on it, and end the job");
  command.option("--html", options->output.html, "Also write the report as one HTML page")
      .value("FILE");
  command.flag("--keep", options->keep,
               "Let the job hang after the report, for you to examine, until Ctrl-C");
  command.footer(
      "Needs python3, and neither PyTorch nor SLURM. Takes about two seconds. The job is four\n"
      "Python processes that add up numbers over sockets; one of them waits for its data.\n"
      "They end when oddrank ends.\n\n"
      "Examples:\n"
      "  oddrank demo                     a hung job and its report\n"
      "  oddrank demo --html demo.html    the same, also as a page for a browser\n"
      "  oddrank demo --keep              the job hangs on, for `oddrank node` in another "
      "terminal");
  command.runs([options] { return run_demo(*options); });
}

}  // namespace oddrank::cli
