#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/deadline.h"
#include "base/log.h"
#include "base/read_file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "slurm/gather.h"
#include "slurm/job.h"
#include "snapshot/capture_file.h"
#include "snapshot/merge.h"

namespace oddrank::cli {
namespace {

struct JobOptions {
  std::string id;
  CaptureOptions capture;
  OutputOptions output;
};

// The first Ctrl-C asks for the report of what is there; the second ends us, and with us, by
// their death signals, all that we started.
std::atomic<bool> interrupted{false};

void on_interrupt(int /*signal*/) {
  if (interrupted.exchange(true)) {
    ::_exit(128 + SIGINT);
  }
}

snapshot::JobInfo job_info(const slurm::Job& job) {
  snapshot::JobInfo info;
  info.id = job.id;
  info.source = snapshot::JobSource::kSlurm;
  info.name = job.name;
  info.user = job.user;
  info.state = job.state;
  info.output_path = job.stdout_path;
  info.elapsed_s = job.elapsed_s;
  info.time_left_s = job.time_left_s;
  info.hosts = job.hosts;
  return info;
}

snapshot::NodeCapture silent_node(const slurm::NodeAnswer& answer) {
  snapshot::NodeCapture node;
  node.host = answer.host;
  node.why = answer.why;
  return node;
}

snapshot::Capture join(const slurm::Job& job, const slurm::GatherResult& gathered) {
  snapshot::Capture whole;
  whole.job = job_info(job);
  snapshot::Merger merger(whole);
  for (const slurm::NodeAnswer& answer : gathered.nodes) {
    snapshot::Capture part;
    if (answer.answered) {
      auto capture = snapshot::decode_capture(answer.payload);
      if (capture) {
        merger.add(*capture);
        continue;
      }
      log_line(LogLevel::kWarning, answer.host + ": " + capture.error().what);
      part.nodes = {{answer.host, false, capture.error().what, 0, {}, {}}};
    } else {
      part.nodes = {silent_node(answer)};
    }
    merger.add(part);
  }
  // What the ranks were told themselves counts more: with torchrun SLURM's tasks are launchers.
  if (whole.job.world_size < 0 && whole.processes.empty()) {
    whole.job.world_size = job.tasks;
  }
  if (!whole.nodes.empty()) {
    auto& notes = whole.nodes.front().notes;
    notes.insert(notes.end(), gathered.notes.begin(), gathered.notes.end());
  }
  return whole;
}

Result<snapshot::Capture> capture_job(const JobOptions& options) {
  ODDRANK_TRY(const slurm::JobId asked, slurm::parse_job_id(options.id));
  ODDRANK_TRY(const slurm::Job job,
              slurm::find_job(options.id, Deadline::after(options.capture.timeout)));
  log_line(LogLevel::kInfo, "job " + job.id + " of " + job.user + " on " + job.node_list);
  slurm::GatherOptions gather;
  ODDRANK_TRY(gather.agent_path, read_link("/proc/self/exe"));
  gather.agent_args = {"agent", "--framed", "--slurm-job", job.id};
  if (!asked.step.empty()) {
    gather.agent_args.insert(gather.agent_args.end(), {"--slurm-step", asked.step});
  }
  const auto arguments = agent_arguments(options.capture);
  gather.agent_args.insert(gather.agent_args.end(), arguments.begin(), arguments.end());
  gather.node_timeout = options.capture.timeout;
  gather.interrupted = &interrupted;
  Progress progress("nodes", options.output.quiet);
  gather.progress = [&progress](std::size_t done, std::size_t total, std::string_view /*host*/) {
    progress.update(done, total);
  };
  ODDRANK_TRY(const slurm::GatherResult gathered, slurm::gather(job, gather));
  return join(job, gathered);
}

int run_job(const JobOptions& options) {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: waits end at once
  ::sigaction(SIGINT, &action, nullptr);
  auto capture = capture_job(options);
  if (!capture) {
    return report_error(capture.error());
  }
  return deliver(*capture, options.output);
}

}  // namespace

void add_job_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<JobOptions>();
  CLI::App* command = app.add_subcommand("job", "A hung SLURM job: all its nodes, one verdict");
  command->add_option("JOBID", options->id, "4711, an array task 4711_3, or a step 4711.0")
      ->required();
  add_capture_options(*command, options->capture);
  add_output_options(*command, options->output);
  add_locals_option(*command, {&options->capture.locals, &options->output.locals});
  command->footer(
      "One agent a node runs inside of the job's allocation (srun --overlap), without GPU or CPU\n"
      "binding, and ends by itself. The ranks are neither stopped nor signalled.\n\n"
      "Examples:\n"
      "  oddrank job 4711\n"
      "  oddrank job 4711 -q\n"
      "  oddrank job 4711 --json out.json --save out.odd");
  command->callback([options, &action] { action = [options] { return run_job(*options); }; });
}

}  // namespace oddrank::cli
