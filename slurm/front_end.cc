#include "slurm/front_end.h"

#include <utility>

#include "base/log.h"
#include "slurm/own_job.h"

namespace oddrank::slurm {
namespace {

snapshot::JobInfo job_info(const Job& job) {
  snapshot::JobInfo info;
  info.id = job.label;
  info.source = snapshot::JobSource::kSlurm;
  info.name = job.name;
  info.user = job.user;
  info.state = job.state;
  info.output_path = job.stdout_path;
  info.elapsed_s = job.elapsed_s;
  info.time_left_s = job.time_left_s;
  return info;
}

}  // namespace

SlurmFrontEnd::SlurmFrontEnd(std::string id, StepOptions options)
    : id_(std::move(id)), options_(std::move(options)) {}

Result<snapshot::JobInfo> SlurmFrontEnd::find_job(const Deadline& deadline) {
  StepLog steps;
  if (id_.empty()) {
    ODDRANK_TRY(id_, own_running_job(deadline));
  }
  ODDRANK_TRY(asked_, parse_job_id(id_));
  ODDRANK_TRY(job_, slurm::find_job(id_, deadline));
  steps.done("asked SLURM: job " + job_.label + " of " + job_.user + " on " + job_.node_list);
  return job_info(job_);
}

std::vector<std::string> SlurmFrontEnd::job_arguments() const {
  std::vector<std::string> arguments{"--slurm-job", job_.id};
  if (is_step()) {
    arguments.insert(arguments.end(), {"--slurm-step", asked_.step});
  }
  if (job_.uid >= 0) {
    arguments.insert(arguments.end(), {"--slurm-user", std::to_string(job_.uid)});
  }
  return arguments;
}

Result<reach::GatherResult> SlurmFrontEnd::gather(const reach::AgentOptions& options) const {
  return slurm::gather(job_, {options, options_});
}

}  // namespace oddrank::slurm
