#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/terminal/progress_line.h"
#include "node/capture_node.h"
#include "node/cores/capture_cores.h"
#include "snapshot/jobs/jobs.h"

namespace oddrank::cli {
namespace {

struct CoreOptions {
  node::CoresRequest request;
  NodeCapture capture;
  OutputOptions output;
};

// Prints unread cores on stderr too: a report on processes has no place for them.
bool warn_of_unread(const snapshot::Capture& capture) {
  bool any = false;
  for (const snapshot::NodeCapture& node : capture.nodes) {
    if (!node.answered) {
      log_line(LogLevel::kWarning, node.why);
      any = true;
    }
  }
  return any;
}

int run_core(const CoreOptions& options) {
  if (const Status outputs = check_outputs(options.output); !outputs) {
    return report_error(outputs.error());
  }
  node::CoresRequest request = options.request;
  auto capture = [&] {
    ProgressLine progress("core files", options.output.quiet);
    request.progress = [&progress](std::size_t done, std::size_t total) {
      progress.update(done, total);
    };
    return node::capture_cores(request, options.capture);
  }();
  if (!capture) {
    return report_error(capture.error());
  }
  const bool unread = warn_of_unread(*capture);
  // One process gets a dump of its own; several get a verdict if they are ranks.
  const ExitStatus status = request.paths.size() == 1 || !snapshot::has_rank(*capture)
                                ? deliver_processes(*capture, options.output)
                                : deliver(*capture, options.output);
  return status == kAllRead && unread ? kPartial : status;
}

}  // namespace

void add_core_command(Parser& parser) {
  auto options = std::make_shared<CoreOptions>();
  Command command =
      parser.command("core", "Read core files; cores of one job are merged like its ranks");
  command.option("CORE", options->request.paths, "Core files, written by the kernel or by gcore")
      .required();
  command
      .option("--sysroot", options->request.sysroot,
              "Search this folder first for the programs and libraries of the cores, for example "
              "of a container or another node; only files of the same build are used")
      .value("DIR")
      .existing_folder();
  add_core_options(command, options->capture);
  add_output_options(command, options->output);
  add_locals_options(command, options->capture, options->output);
  command.footer(
      "A core is a rank if the environment stored in it says so. Decompress compressed cores "
      "first;\n"
      "for systemd's, `coredumpctl dump PID -o FILE` does it.\n\n"
      "Examples:\n"
      "  oddrank core core.31337               one process: Python and native frames in one "
      "stack\n"
      "  oddrank core /scratch/cores/core.*    all ranks of a job: which rank holds it up?\n"
      "  oddrank core core.7 --sysroot /images/train-24.05    a container's core, with its files\n"
      "  oddrank core core.* --save hang.odd   keep gigabytes of cores as kilobytes for "
      "`oddrank report`");
  command.runs([options] { return run_core(*options); });
}

}  // namespace oddrank::cli
