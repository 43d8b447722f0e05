#include <algorithm>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress_line.h"
#include "node/capture_node.h"
#include "node/sources/collect_dumps.h"
#include "snapshot/carrier.h"

namespace oddrank::cli {
namespace {

struct NodeOptions {
  std::vector<pid_t> pids;
  std::string select;
  bool each = false;
  node::CaptureOptions capture;
  OutputOptions output;
};

// Returns one job of a capture of several jobs, with the tables that it needs.
snapshot::Capture job_of(const snapshot::Capture& capture, const std::string& key) {
  snapshot::Capture one;
  one.nodes = capture.nodes;
  one.job = capture.job;
  one.job.id = key;
  one.job.world_size = -1;
  snapshot::Carrier carrier(capture.tables, one.tables);
  for (const snapshot::ProcessCapture& process : capture.processes) {
    one.processes.push_back(carrier.process(process));
  }
  node::keep_job(one, key);
  for (const snapshot::FlightRecord& record : capture.collectives.flight) {
    const bool ours =
        std::any_of(one.processes.begin(), one.processes.end(),
                    [&record](const auto& process) { return process.pid == record.pid; });
    if (ours) {
      one.collectives.flight.push_back(carrier.flight_record(record));
    }
  }
  for (const snapshot::ProcessCapture& process : one.processes) {
    one.job.world_size = std::max(one.job.world_size, process.world_size);
  }
  return one;
}

int run_each(const snapshot::Capture& capture, const OutputOptions& output) {
  int worst = kAllRead;
  for (const std::string& key : node::job_keys(capture)) {
    worst = std::max<int>(worst, deliver(job_of(capture, key), output));
  }
  return worst;
}

int run_node(const NodeOptions& options) {
  node::NodeRequest request;
  request.pids = options.pids;
  request.select = options.select;
  request.any_job = options.each;
  auto capture = [&] {
    ProgressLine progress("processes", options.output.quiet);
    std::size_t processes = 0;
    request.progress = [&](std::size_t done, std::size_t total) {
      processes = total;
      progress.update(done, total);
    };
    request.sampling_again = [&](node::SampleReason reason, std::size_t sample) {
      progress.update(processes, processes, "", node::again_words(reason, sample));
    };
    return node::capture_node(request, options.capture);
  }();
  if (!capture) {
    return report_error(capture.error());
  }
  node::add_given_dumps(*capture, options.capture.fr, true, options.capture.timeout);
  // One process gets a dump of its own; several get a verdict if they are ranks.
  if (options.pids.size() == 1 || (!options.pids.empty() && !node::has_rank(*capture))) {
    return deliver_processes(*capture, options.output);
  }
  if (options.each) {
    return run_each(*capture, options.output);
  }
  return deliver(*capture, options.output);
}

}  // namespace

void add_node_command(Parser& parser) {
  auto options = std::make_shared<NodeOptions>();
  Command command = parser.command(
      "node", "Diagnose the ranks of this node, or print the stacks of processes, without SLURM");
  command.option("PID", options->pids, "Processes to read instead of all ranks").positive();
  const Option select = command
                            .option("--select", options->select,
                                    "Choose the job with this name if several run on this node")
                            .value("NAME");
  command.flag("--each", options->each, "Print one report for each job on this node")
      .not_with(select);
  add_capture_options(command, options->capture);
  add_output_options(command, options->output);
  add_locals_option(command, {&options->capture.read.locals, &options->output.locals});
  command.footer(
      "Examples:\n"
      "  oddrank node           which rank of this node holds the others up?\n"
      "  oddrank node 31337     one process: Python and native frames in one stack\n"
      "  oddrank node --json - | jq .verdict");
  command.runs([options] { return run_node(*options); });
}

}  // namespace oddrank::cli
