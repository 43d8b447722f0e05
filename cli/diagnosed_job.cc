#include "cli/diagnosed_job.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregate/diagnose.h"
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

}  // namespace

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

}  // namespace oddrank::cli
