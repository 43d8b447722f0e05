#include <unistd.h>

#include <cstdlib>
#include <string>

#include <CLI/CLI.hpp>

#include "base/isolated.h"
#include "base/read_file.h"
#include "cli/capture_node.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/shipped_copy.h"
#include "slurm/drop_box.h"
#include "slurm/frames.h"
#include "snapshot/capture_file.h"

namespace oddrank::cli {
namespace {

struct AgentOptions {
  std::string out = "-";
  std::string box;      // folder for the answer, which stdout then only points to
  std::string shipped;  // path of the copy that we are; empty: none
  bool framed = false;
  NodeRequest request;
  CaptureOptions capture;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}

// A node on which nothing could be read still answers: with a capture that says why.
snapshot::Capture empty_capture(const std::string& host, const Error& error) {
  snapshot::Capture capture;
  capture.nodes.emplace_back();
  capture.nodes.front().host = host;
  capture.nodes.front().answered = true;
  capture.nodes.front().why = error.what;
  capture.job.hosts = {host};
  return capture;
}

int run_agent(AgentOptions& options) {
  delete_shipped_copy(options.shipped);
  if (options.request.host.empty()) {
    options.request.host = variable("SLURMD_NODENAME");
  }
  if (options.out == "-" && !options.framed && ::isatty(STDOUT_FILENO) != 0) {
    return report_error({Errc::kUsage, "a capture is no text for a terminal",
                         "give --out FILE, or use `oddrank node` to see the report"});
  }
  const std::uint64_t stream = slurm::new_stream_id();
  if (options.framed) {
    send_bytes(STDOUT_FILENO, slurm::encode_hello(options.request.host, stream));
  }
  auto capture = capture_node(options.request, options.capture);
  ExitStatus status = kAllRead;
  if (!capture) {
    status = report_error(capture.error());
    if (status == kWrongUsage) {
      return status;
    }
    capture = empty_capture(options.request.host, capture.error());
  }
  const std::string bytes = snapshot::encode_capture(*capture);
  if (options.framed) {
    const std::string host = capture->nodes.front().host;
    std::string answer = bytes;
    if (!options.box.empty()) {
      auto note = slurm::leave_in_box(options.box, host, bytes);
      // What cannot be left there goes the long way.
      answer = note ? *std::move(note) : std::move(answer);
    }
    return send_bytes(STDOUT_FILENO, slurm::encode_frames(host, stream, answer)) ? status
                                                                                 : kToolFault;
  }
  if (auto written = write_file(options.out, bytes); !written) {
    return report_error(written.error());
  }
  return status;
}

}  // namespace

void add_agent_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<AgentOptions>();
  CLI::App* command = app.add_subcommand(
      "agent", "One node's capture to stdout or a file; what the others start and scripts call");
  command->add_option("--out", options->out, "File to write; '-' is stdout")->type_name("FILE");
  command->add_flag("--framed", options->framed, "As checksummed text lines, for srun's output");
  command->add_option("--slurm-job", options->request.slurm_job, "Only ranks of this SLURM job");
  command->add_option("--slurm-step", options->request.slurm_step, "Only ranks of this step");
  command->add_option("--select", options->request.select,
                      "Of several jobs on this node, the one with this name");
  command
      ->add_option("--beside", options->request.beside,
                   "Of several jobs on this node, the one that this process is a rank of")
      ->type_name("PID");
  command->add_option("--host", options->request.host,
                      "Name of this node in the report [SLURMD_NODENAME or the host name]");
  command->add_option("--box", options->box)->group("");
  command->add_option("--delete-self", options->shipped)->group("");
  add_capture_options(*command, options->capture);
  add_locals_option(*command, {&options->capture.locals});
  command->footer(
      "Examples:\n"
      "  oddrank agent --out /shared/$(hostname).odd    then: oddrank report /shared/*.odd\n"
      "  pdsh -w n[0-3] oddrank agent --out /shared/%h.odd");
  command->callback([options, &action] { action = [options] { return run_agent(*options); }; });
}

}  // namespace oddrank::cli
