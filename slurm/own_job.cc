#include "slurm/own_job.h"

#include <unistd.h>

#include <vector>

#include "base/split.h"
#include "slurm/client.h"

namespace oddrank::slurm {
namespace {

constexpr std::size_t kMostListed = 8;

}  // namespace

Result<std::string> choose_own_job(std::string_view text) {
  std::vector<std::vector<std::string_view>> jobs;
  for (const std::string_view line : split(text, '\n')) {
    if (auto fields = split(trim(line), '|'); !fields.empty()) {
      jobs.push_back(std::move(fields));
    }
  }
  if (jobs.empty()) {
    return fail(Errc::kNotFound, "no job of yours is running",
                "`squeue --me` lists those that wait");
  }
  if (jobs.size() == 1) {
    return std::string(jobs.front().front());
  }
  std::string list;
  for (std::size_t i = 0; i < jobs.size() && i < kMostListed; ++i) {
    list += "\n  oddrank job " + std::string(jobs[i][0]);
    for (std::size_t field = 1; field < jobs[i].size(); ++field) {
      list += "  " + std::string(jobs[i][field].substr(0, 40));
    }
  }
  return fail(Errc::kUsage, std::to_string(jobs.size()) + " jobs of yours are running",
              "say which one is meant:" + list);
}

Result<std::string> own_running_job(const Deadline& deadline) {
  ODDRANK_TRY(const std::string text, call_client({"squeue", "-h", "-t", "R", "-u",
                                                   std::to_string(::getuid()), "-o", "%A|%j|%N"},
                                                  deadline));
  return choose_own_job(text);
}

}  // namespace oddrank::slurm
