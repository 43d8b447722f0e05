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

Result<std::string> ask_for_own_jobs(const Deadline& deadline) {
  return call_client(
      {"squeue", "-h", "-t", "R", "-u", std::to_string(::getuid()), "-o", "%i|%j|%N"}, deadline);
}

}  // namespace

std::vector<OwnJob> parse_own_jobs(std::string_view text) {
  std::vector<OwnJob> jobs;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.empty()) {
      continue;
    }
    // The parts of a heterogeneous job are "3+0" and "3+1".
    OwnJob job{std::string(fields[0].substr(0, fields[0].find('+'))),
               std::string(fields.size() > 1 ? fields[1] : ""),
               std::string(fields.size() > 2 ? fields[2] : "")};
    const bool known = std::any_of(jobs.begin(), jobs.end(),
                                   [&job](const OwnJob& other) { return other.id == job.id; });
    if (!known) {
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

Result<std::string> choose_own_job(std::string_view text) {
  const std::vector<OwnJob> jobs = parse_own_jobs(text);
  if (jobs.empty()) {
    return fail(Errc::kNotFound, "you have no running job",
                "`squeue --me` lists your pending jobs");
  }
  if (jobs.size() == 1) {
    return jobs.front().id;
  }
  std::string list;
  for (std::size_t i = 0; i < jobs.size() && i < kMaxListed; ++i) {
    list += "\n  oddrank job " + shell_quoted(jobs[i].id);
    for (const std::string& part : {jobs[i].name, jobs[i].hosts}) {
      list += part.empty() ? "" : "  " + part.substr(0, 40);
    }
  }
  return fail(Errc::kUsage, std::to_string(jobs.size()) + " of your jobs are running",
              "choose one:" + list);
}

Result<std::vector<OwnJob>> own_running_jobs(const Deadline& deadline) {
  ODDRANK_TRY(const std::string text, ask_for_own_jobs(deadline));
  return parse_own_jobs(text);
}

Result<std::string> own_running_job(const Deadline& deadline) {
  ODDRANK_TRY(const std::string text, ask_for_own_jobs(deadline));
  return choose_own_job(text);
}

}  // namespace oddrank::slurm
