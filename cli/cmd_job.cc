#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/step_log.h"
#include "cli/agent_options.h"
#include "cli/commands.h"
#include "cli/diagnosed_job.h"
#include "cli/join_answers.h"
#include "cli/output.h"
#include "cli/output_age.h"
#include "cli/parser.h"
#include "cli/terminal/make_report.h"
#include "cli/terminal/progress_line.h"
#include "node/sources/collect_dumps.h"
#include "node/sources/collect_log.h"
#include "slurm/gather.h"
#include "slurm/job.h"
#include "slurm/job_outlook.h"
#include "slurm/own_job.h"

namespace oddrank::cli {
namespace {

struct JobOptions {
  std::string id;
  bool mine = false;
  std::string via;
  std::string send_to;
  node::CaptureOptions capture;
  OutputOptions output;
};

snapshot::JobInfo job_info(const slurm::Job& job) {
  snapshot::JobInfo info;
  info.id = job.label;
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

Result<snapshot::Capture> capture_job(const JobOptions& options) {
  const Deadline deadline = Deadline::after(options.capture.timeout);
  StepLog steps;
  std::string id = options.id;
  if (options.mine) {
    ODDRANK_TRY(id, slurm::own_running_job(deadline));
  }
  ODDRANK_TRY(const slurm::JobId asked, slurm::parse_job_id(id));
  ODDRANK_TRY(const slurm::Job job, slurm::find_job(id, deadline));
  steps.done("asked SLURM: job " + job.label + " of " + job.user + " on " + job.node_list);
  std::vector<std::string> command{"agent", "--framed", "--slurm-job", job.id};
  if (!asked.step.empty()) {
    command.insert(command.end(), {"--slurm-step", asked.step});
  }
  if (job.uid >= 0) {
    command.insert(command.end(), {"--slurm-user", std::to_string(job.uid)});
  }
  ProgressLine progress("nodes", options.output.quiet);
  ODDRANK_TRY(auto agents, agent_options(std::move(command), options.capture, progress));
  slurm::GatherOptions gather{std::move(agents)};
  gather.via = options.via;
  if (!options.send_to.empty()) {
    gather.send_to = {options.send_to};
  }
  ODDRANK_TRY(const reach::GatherResult gathered, slurm::gather(job, gather));
  steps.done("asked the nodes");
  snapshot::Capture whole = join_answers(job_info(job), gathered);
  steps.done("joined their answers");
  if (asked.step.empty()) {
    keep_diagnosed_job(whole);
  }
  // The ranks' own data takes precedence: with torchrun, SLURM's tasks are launchers.
  if (whole.job.world_size < 0 && whole.processes.empty()) {
    whole.job.world_size = job.tasks;
  }
  for (std::string note : {slurm::outlook_words(job), output_age_note(job.stdout_path)}) {
    if (!note.empty()) {
      whole.job.notes.push_back(std::move(note));
    }
  }
  node::collect_job_output(whole, options.capture.timeout / 2);
  node::add_given_dumps(whole, options.capture.fr, true, options.capture.timeout);
  return whole;
}

int run_job(const JobOptions& options) {
  if (options.id.empty() && !options.mine) {
    return report_error({Errc::kUsage, "no job given", "give a job id, or --me"});
  }
  return make_report(
      options.output, [&options] { return capture_job(options); }, deliver);
}

}  // namespace

void add_job_command(Parser& parser) {
  auto options = std::make_shared<JobOptions>();
  Command command = parser.command("job", "Diagnose a hung SLURM job: all its nodes, one verdict");
  const Option id =
      command.option("JOBID", options->id, "Job 4711, array task 4711_3, or step 4711.0");
  command.flag("--me", options->mine, "Diagnose my only running job").not_with(id);
  command
      .option("--via", options->via,
              "Shared folder through which thousands of nodes send their answers")
      .value("DIR");
  add_send_option(command, options->send_to);
  add_capture_options(command, options->capture);
  add_output_options(command, options->output);
  add_repeat_option(command, options->output);
  add_locals_options(command, options->capture.read, options->output);
  command.footer(
      "On each node one agent runs inside the job's allocation (srun --overlap), without GPU or\n"
      "CPU binding, and exits by itself. Ranks are never signalled; a thread that is running is\n"
      "paused for the moment its stack is copied (--never-stop forbids it).\n\n"
      "Examples:\n"
      "  oddrank job 4711            which rank holds the job up, and why?\n"
      "  oddrank job --me            the same for your only running job\n"
      "  oddrank job 4711 -q         only the verdict's sentence\n"
      "  oddrank job 4711 --json out.json --save out.odd");
  command.runs([options] { return run_job(*options); });
}

}  // namespace oddrank::cli
