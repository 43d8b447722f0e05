#include "slurm/own_job.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/shell_words.h"
#include "base/split.h"
#include "slurm/client.h"

namespace oddrank::slurm {
namespace {

constexpr std::size_t kMaxListed = 8;

}  // namespace

Result<std::string> choose_own_job(std::string_view text) {
  std::vector<std::vector<std::string_view>> jobs;
  for (const std::string_view line : split(text, '\n')) {
    auto fields = split(trim(line), '|');
    if (fields.empty()) {
      continue;
    }
    // The components of a heterogeneous job, "3+0" and "3+1", are one job.
    fields.front() = fields.front().substr(0, fields.front().find('+'));
    const bool known = std::any_of(jobs.begin(), jobs.end(), [&fields](const auto& job) {
      return job.front() == fields.front();
    });
    if (!known) {
      jobs.push_back(std::move(fields));
    }
  }
  if (jobs.empty()) {
    return fail(Errc::kNotFound, "you have no running job",
                "`squeue --me` lists your pending jobs");
  }
  if (jobs.size() == 1) {
    return std::string(jobs.front().front());
  }
  std::string list;
  for (std::size_t i = 0; i < jobs.size() && i < kMaxListed; ++i) {
    list += "\n  oddrank job " + shell_quoted(jobs[i][0]);
    for (std::size_t field = 1; field < jobs[i].size(); ++field) {
      list += "  " + std::string(jobs[i][field].substr(0, 40));
    }
  }
  return fail(Errc::kUsage, std::to_string(jobs.size()) + " of your jobs are running",
              "choose one:" + list);
}

Result<std::string> own_running_job(const Deadline& deadline) {
  ODDRANK_TRY(const std::string text, call_client({"squeue", "-h", "-t", "R", "-u",
                                                   std::to_string(::getuid()), "-o", "%i|%j|%N"},
                                                  deadline));
  return choose_own_job(text);
}

}  // namespace oddrank::slurm
