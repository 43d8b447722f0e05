// The front end (reach/front_end.h) for SLURM's jobs.
#pragma once

#include <string>
#include <vector>

#include "reach/front_end.h"
#include "slurm/gather.h"
#include "slurm/job.h"
#include "snapshot/capture.h"

namespace oddrank::slurm {

class SlurmFrontEnd : public reach::FrontEnd {
 public:
  // `id`: for parse_job_id(); empty: our user's only running job.
  explicit SlurmFrontEnd(std::string id, StepOptions options = {});

  // Errors: those of slurm::find_job() and own_running_job().
  Result<snapshot::JobInfo> find_job(const Deadline& deadline) override;
  std::vector<std::string> job_arguments() const override;
  // Errors: those of slurm::gather().
  Result<reach::GatherResult> gather(const reach::AgentOptions& options) const override;

  // Precondition: find_job().
  const Job& job() const { return job_; }
  // Returns whether `id` named a step.
  bool is_step() const { return !asked_.step.empty(); }

 private:
  std::string id_;
  StepOptions options_;
  JobId asked_;
  Job job_;
};

}  // namespace oddrank::slurm
