#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregate/diagnose.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/span_words.h"
#include "cli/ask_nodes.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/terminal/make_report.h"
#include "node/collect/collect_dumps.h"
#include "node/collect/collect_log.h"
#include "slurm/front_end.h"
#include "slurm/job_text.h"
#include "snapshot/capture.h"
#include "snapshot/jobs/jobs.h"
#include "snapshot/jobs/linked_jobs.h"

namespace oddrank::cli {
namespace {

using snapshot::Capture;
using snapshot::JobShare;

constexpr std::size_t kMaxJudged = 16;  // jobs that are diagnosed to choose one

std::string share_words(const JobShare& job) {
  return job.key + " (" + std::to_string(job.ranks) + (job.ranks == 1 ? " rank)" : " ranks)");
}

std::set<std::int32_t> ranks_of(const Capture& capture, const std::string& key) {
  std::set<std::int32_t> ranks;
  for (const auto& process : capture.processes) {
    if (process.is_rank && process.rank >= 0 && capture.tables.text(process.job_key) == key) {
      ranks.insert(process.rank);
    }
  }
  return ranks;
}

// Returns whether no number occurs in two of the jobs: then they are parts of one.
bool are_parts(const Capture& capture, const std::vector<JobShare>& jobs) {
  std::set<std::int32_t> all;
  std::size_t sum = 0;
  for (const JobShare& job : jobs) {
    const std::set<std::int32_t> ranks = ranks_of(capture, job.key);
    all.insert(ranks.begin(), ranks.end());
    sum += ranks.size();
  }
  return all.size() == sum;
}

// Returns how urgently a job needs attention.
int urgency(const aggregate::Verdict& verdict) {
  const int stalled = aggregate::is_stall(verdict.kind) ? 1 : 0;
  return verdict.culprits.empty() ? stalled : 2;
}

// Returns which of the jobs, the largest first, the report is about.
std::size_t most_urgent(const Capture& capture, const std::vector<JobShare>& jobs) {
  std::size_t best = 0;
  int most = -1;
  for (std::size_t i = 0; i < std::min(jobs.size(), kMaxJudged); ++i) {
    const int urgent = urgency(aggregate::diagnose(snapshot::job_of(capture, jobs[i].key)).verdict);
    if (urgent > most) {
      best = i;
      most = urgent;
    }
  }
  return best;
}

void note_side_jobs(Capture& capture,
                    const std::vector<JobShare>& all,
                    const std::vector<JobShare>& judged) {
  std::string list;
  for (const JobShare& job : all) {
    if (job.tier < judged.front().tier) {
      list += (list.empty() ? "" : ", ") + share_words(job);
    }
  }
  if (!list.empty()) {
    capture.job.notes.push_back("left out (no training): " + list);
  }
}

void note_other_jobs(Capture& capture,
                     const std::vector<JobShare>& jobs,
                     const std::vector<std::string>& kept) {
  std::string list;
  std::string about;
  for (const JobShare& job : jobs) {
    std::string& words = std::ranges::find(kept, job.key) == kept.end() ? list : about;
    words += (words.empty() ? "" : ", ") + share_words(job);
  }
  capture.job.notes.push_back("this report is about " + about +
                              "; left out are other runs in this allocation: " + list);
}

// Keeps one job of the capture, and notes what was left out and why: the ranks of a SLURM job may
// belong to steps beside its training, and to several runs in one allocation. Jobs that do not
// train are left out if another one does. If several train and have a rank number in common, keeps
// the one that is held up, or else the one with the most ranks; without a common number, they are
// parts of one job.
void keep_diagnosed_job(Capture& capture) {
  const std::vector<JobShare> all = snapshot::jobs_of(capture);
  const std::vector<JobShare> judged = snapshot::jobs_to_judge(capture);
  if (all.size() < 2) {
    return;
  }
  std::vector<std::string> keys;
  keys.reserve(judged.size());
  for (const JobShare& job : judged) {
    keys.push_back(job.key);
  }
  if (judged.size() < all.size()) {
    note_side_jobs(capture, all, judged);
  }
  const snapshot::JobSets together = snapshot::linked_jobs(capture);
  const bool linked = snapshot::set_with(together, keys.front()).size() >= keys.size();
  if (!linked && !are_parts(capture, judged)) {
    keys = snapshot::set_with(together, judged[most_urgent(capture, judged)].key);
    note_other_jobs(capture, judged, keys);
  }
  snapshot::keep_jobs(capture, keys);
  capture.job.world_size = snapshot::world_size_of(capture);
}

constexpr std::chrono::milliseconds kOutputPatience{1000};
// A job that prints once a step is silent for as long as a step takes.
constexpr std::int64_t kMinOutputAge = 60;

// Returns "the job's output /x/slurm-7.out has had no new line for 47 min". Returns "" if the file
// cannot be read from here within a second (its file system may hang) or was written less than a
// minute ago. Silence is a first sign of when the job stopped. Precondition: one thread (it forks).
std::string output_age_note(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  const IsolatedTask task{[&path](int fd) {
                            struct stat file {};
                            if (::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode)) {
                              send_bytes(fd, std::to_string(std::time(nullptr) - file.st_mtime));
                            }
                          },
                          kOutputPatience};
  const auto age = parse_number<std::int64_t>(run_isolated({task}, 1).front().bytes);
  if (!age || *age < kMinOutputAge) {
    return {};
  }
  return "the job's output " + path + " has had no new line for " +
         span_words(std::chrono::seconds(*age));
}

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
