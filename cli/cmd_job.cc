#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/ask_nodes.h"
#include "cli/commands.h"
#include "cli/diagnosed_job.h"
#include "cli/output.h"
#include "cli/output_age.h"
#include "cli/parser.h"
#include "cli/terminal/make_report.h"
#include "node/collect/collect_dumps.h"
#include "node/collect/collect_log.h"
#include "slurm/front_end.h"
#include "slurm/job_outlook.h"

namespace oddrank::cli {
namespace {

struct JobOptions {
  std::string id;
  bool mine = false;
  std::string shared_folder;
  std::string send_to;
  NodeCapture capture;
  OutputOptions output;
};

Result<snapshot::Capture> capture_job(const JobOptions& options) {
  slurm::StepOptions step;
  step.shared_folder = options.shared_folder;
  if (!options.send_to.empty()) {
    step.send_to = {options.send_to};
  }
  slurm::SlurmFrontEnd nodes(options.mine ? "" : options.id, std::move(step));
  const NodeQuestion question{{"agent", "--framed"}, {}, "nodes", options.output.quiet};
  ODDRANK_TRY(snapshot::Capture whole, capture_nodes(nodes, question, options.capture));
  if (!nodes.is_step()) {
    keep_diagnosed_job(whole);
  }
  const slurm::Job& job = nodes.job();
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
      options.output, options.mine ? "my job" : "job " + options.id,
      [&options] { return capture_job(options); }, deliver);
}

}  // namespace

void add_job_command(Parser& parser) {
  auto options = std::make_shared<JobOptions>();
  Command command = parser.command("job", "Diagnose a hung SLURM job: all its nodes, one verdict");
  const Option id =
      command.option("JOBID", options->id, "Job 4711, array task 4711_3, or step 4711.0");
  command.flag("--me", options->mine, "Diagnose my only running job").not_with(id);
  command
      .option("--shared", options->shared_folder,
              "Shared folder through which thousands of nodes send their answers")
      .value("DIR");
  add_send_option(command, options->send_to);
  add_capture_options(command, options->capture);
  add_output_options(command, options->output);
  add_live_options(command, options->output);
  add_locals_options(command, options->capture, options->output);
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
