#include "slurm/job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/shell_words.h"
#include "base/split.h"
#include "slurm/can_collect.h"
#include "slurm/client.h"
#include "slurm/job_text.h"

namespace oddrank::slurm {
namespace {

constexpr std::size_t kMaxJobHosts = 65536;
constexpr std::size_t kMaxTasksListed = 16;

bool is_step_of_user(std::string_view id) {
  return is_job_number(
      id.substr(0, id.find('+')));  // "0", of a het job "0+1"; not "batch", "extern"
}

// Finds the step of the ranks and its size. Agents' steps are smaller or younger.
void choose_step(Job& job, std::string_view wanted) {
  const Step* best = nullptr;
  for (const Step& step : job.steps) {
    const bool running = step.state.empty() || step.state == "RUNNING";
    if (wanted.empty() ? !running || !is_step_of_user(step.id) || step.name == "oddrank"
                       : step.id != wanted) {
      continue;
    }
    if (best == nullptr || step.tasks > best->tasks) {
      best = &step;
    }
  }
  if (best != nullptr) {
    job.step = best->id;
    // In a heterogeneous job, each component's part of a step is listed as a step of its own.
    job.tasks = best->tasks > 0 && job.parts.empty() ? best->tasks : job.tasks;
  }
}

Result<std::vector<std::string>> expand(const std::string& node_list, const Deadline& deadline) {
  ODDRANK_TRY(const std::string text,
              call_client({"scontrol", "show", "hostnames", node_list}, deadline));
  std::vector<std::string> hosts;
  for (const std::string_view word : split_blanks(text)) {
    if (hosts.size() < kMaxJobHosts) {
      hosts.emplace_back(word);
    }
  }
  if (hosts.empty()) {
    return fail(Errc::kBadData, "scontrol expands the node list " + node_list + " to nothing");
  }
  return hosts;
}

// Returns the number of the job that we run in; "" if we run in none.
std::string own_job_number() {
  const char* number = std::getenv("SLURM_JOB_ID");  // NOLINT(concurrency-mt-unsafe): one thread
  return number == nullptr ? "" : number;
}

// An array's id is also the number of its last task. If we run in that very task, it is meant.
Status check_array(const Job& job, const JobId& wanted) {
  const bool exact = wanted.job.find('_') != std::string::npos || !wanted.step.empty() ||
                     own_job_number() == wanted.job;
  if (exact || job.tasks_of_array.size() < 2) {
    return ok();
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(job.tasks_of_array.size(), kMaxTasksListed); ++i) {
    list += "\n  oddrank job " + shell_quoted(job.tasks_of_array[i]);
  }
  return fail(Errc::kUsage,
              "job " + wanted.job + " is an array, of which " +
                  std::to_string(job.tasks_of_array.size()) + " tasks run",
              "each task is a job of its own; choose one:" + list);
}

}  // namespace

Result<JobId> parse_job_id(std::string_view text) {
  JobId id;
  const std::string_view job = text.substr(0, text.find('.'));
  if (job.size() < text.size()) {
    id.step = std::string(text.substr(job.size() + 1));
  }
  const auto mark = job.find_first_of("_+");
  // 0 is no job's number: to scontrol it means all jobs.
  const std::string_view number = job.substr(0, mark);
  const bool good = is_job_number(number) &&
                    number.find_first_not_of('0') != std::string_view::npos &&
                    (mark == std::string_view::npos || is_job_number(job.substr(mark + 1))) &&
                    (job.size() == text.size() || is_step_of_user(id.step));
  if (!good) {
    return fail(Errc::kUsage, "\"" + std::string(text.substr(0, 64)) + "\" is not a SLURM job id",
                "a job id looks like 4711, 4711_3 (task of an array) or 4711.0 (one step)");
  }
  id.job = std::string(job);
  return id;
}

Result<Job> show_job(std::string_view id, const Deadline& deadline) {
  ODDRANK_TRY(const JobId wanted, parse_job_id(id));
  auto text = call_client({"scontrol", "show", "job", wanted.job}, deadline);
  if (!text) {
    return fail(std::move(text).error().in("cannot look up job " + wanted.job));
  }
  auto parsed = parse_job(*text);
  if (!parsed) {
    return fail(std::move(parsed).error().in("cannot look up job " + wanted.job));
  }
  Job job = *std::move(parsed);
  ODDRANK_TRY_STATUS(check_array(job, wanted));
  if (job.state != "RUNNING" || job.node_list.empty()) {
    return job;
  }
  if (!job.parts.empty() && wanted.job != job.id) {
    // Asked about one component, scontrol prints only that one.
    return show_job(job.id + (wanted.step.empty() ? "" : "." + wanted.step), deadline);
  }
  for (HetPart& part : job.parts) {
    ODDRANK_TRY(part.hosts, expand(part.node_list, deadline));
    job.hosts.insert(job.hosts.end(), part.hosts.begin(), part.hosts.end());
  }
  if (job.parts.empty()) {
    ODDRANK_TRY(job.hosts, expand(job.node_list, deadline));
  }
  // Not essential: if the controller fails here, only the number of ranks is unknown.
  if (const auto steps = call_client({"scontrol", "show", "step", job.id}, deadline)) {
    job.steps = parse_steps(*steps);
    choose_step(job, wanted.step);
  }
  if (!wanted.step.empty() && job.step.empty()) {
    return fail(Errc::kNotFound, "job " + job.id + " has no step " + wanted.step,
                "`scontrol show step " + shell_quoted(job.id) + "` lists its steps");
  }
  return job;
}

Result<Job> find_job(std::string_view id, const Deadline& deadline) {
  ODDRANK_TRY(Job job, show_job(id, deadline));
  ODDRANK_TRY_STATUS(can_collect(job, static_cast<std::int64_t>(::geteuid())));
  return job;
}

}  // namespace oddrank::slurm
