#include "cli/first_steps.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/deadline.h"
#include "base/shell_words.h"
#include "cli/environment.h"
#include "node/watch_sample.h"
#include "slurm/own_job.h"
#include "snapshot/jobs/jobs.h"

namespace oddrank::cli {
namespace {

constexpr std::chrono::milliseconds kAskPatience{5000};
constexpr std::size_t kMaxListed = 5;

std::string step(const std::string& command, const std::string& why) {
  constexpr std::size_t kColumn = 26;
  const std::string padding(command.size() < kColumn ? kColumn - command.size() : 1, ' ');
  return "\n  " + command + padding + why;
}

std::string job_steps() {
  if (const std::string job = own_variable("SLURM_JOB_ID"); !job.empty()) {
    return step("oddrank job " + shell_quoted(job), "the job that this shell is in");
  }
  const auto jobs = slurm::own_running_jobs(Deadline::after(kAskPatience));
  if (!jobs) {
    return "";  // mostly: there is no SLURM
  }
  std::string steps;
  for (std::size_t i = 0; i < jobs->size() && i < kMaxListed; ++i) {
    const slurm::OwnJob& job = (*jobs)[i];
    steps +=
        step("oddrank job " + shell_quoted(job.id), "your job " + job.name + " on " + job.hosts);
  }
  return steps;
}

std::string node_steps() {
  const auto found = node::find_ranks("");
  if (!found) {
    return "";
  }
  const auto ranks =
      std::count_if(found->processes.begin(), found->processes.end(),
                    [](const snapshot::ProcessCapture& process) { return process.is_rank; });
  const std::vector<std::string> keys = snapshot::job_keys(*found);
  if (ranks == 0) {
    return "";
  }
  const std::string are = ranks == 1 ? "1 rank runs" : std::to_string(ranks) + " ranks run";
  return keys.size() > 1 ? step("oddrank node --each",
                                are + " on this node, of " + std::to_string(keys.size()) + " jobs")
                         : step("oddrank node", are + " on this node");
}

}  // namespace

std::string first_steps() {
  const std::string present = job_steps() + node_steps();
  return (present.empty() ? step("oddrank demo", "a small job that hangs, and the report on it")
                          : present) +
         step("oddrank --help", "all commands, with examples");
}

}  // namespace oddrank::cli
