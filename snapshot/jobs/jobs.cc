#include "snapshot/jobs/jobs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/base_name.h"
#include "base/printable.h"
#include "base/shell_words.h"
#include "snapshot/carrier.h"
#include "snapshot/jobs/linked_jobs.h"
#include "snapshot/replicas/number_replicas.h"

namespace oddrank::snapshot {
namespace {

constexpr std::size_t kMaxLeftOut = 8;  // jobs that a note names

using Place = std::pair<std::uint32_t, pid_t>;  // node and pid

// Returns whether the process shows that there is a job: it has a number in it, or another role.
bool is_counted(const ProcessCapture& process) {
  return process.is_rank && (process.rank >= 0 ||
                             (process.role != JobRole::kUnknown && process.job_key != StringId{}));
}

bool says_its_rank(const Capture& capture, const ProcessCapture& process) {
  return std::any_of(
      process.environment.begin(), process.environment.end(),
      [&capture](const auto& variable) { return capture.tables.text(variable.first) == "RANK"; });
}

JobTier tier_of(const Capture& capture, const ProcessCapture& process) {
  if (process.communicates || !process.groups.empty() || says_its_rank(capture, process)) {
    return JobTier::kTraining;
  }
  const bool python = process.python_version != StringId{} ||
                      base_name(capture.tables.text(process.executable)).starts_with("python");
  return python ? JobTier::kPython : JobTier::kPrograms;
}

// "n0:29500" and "n0:29500 of user 1001": root's names of other users' jobs say of which user they
// are.
std::string_view without_user(std::string_view key) {
  return key.substr(0, key.find(kOfUser));
}

// "34" and "slurm 34" mean "slurm 34.0".
bool is_meant(std::string_view key, std::string_view wanted) {
  constexpr std::string_view kSlurm = "slurm ";
  if (key == wanted || without_user(key) == wanted) {
    return true;
  }
  if (!key.starts_with(kSlurm)) {
    return false;
  }
  key.remove_prefix(kSlurm.size());
  if (wanted.starts_with(kSlurm)) {
    wanted.remove_prefix(kSlurm.size());
  }
  return key.starts_with(wanted) && (key.size() == wanted.size() || key[wanted.size()] == '.');
}

// Adds a note on the jobs that are left out because `kept` were chosen.
void note_left_out(Capture& capture, const std::vector<std::string>& kept) {
  std::string list;
  std::size_t count = 0;
  for (const JobShare& job : jobs_of(capture)) {
    if (std::ranges::find(kept, job.key) == kept.end() && ++count <= kMaxLeftOut) {
      list += (count == 1 ? "" : ", ") + job.key + " (" + std::to_string(job.ranks) +
              (job.ranks == 1 ? " rank)" : " ranks)");
    }
  }
  if (count > kMaxLeftOut) {
    list += " and " + std::to_string(count - kMaxLeftOut) + " more";
  }
  if (count != 0) {
    capture.job.notes.push_back("left out, because another job was chosen: " + list);
  }
}

}  // namespace

std::vector<JobShare> jobs_of(const Capture& capture) {
  std::map<std::string_view, JobShare> jobs;
  for (const ProcessCapture& process : capture.processes) {
    if (is_counted(process)) {
      JobShare& job = jobs[capture.tables.text(process.job_key)];
      ++job.ranks;
      job.tier = std::max(job.tier, tier_of(capture, process));
    }
  }
  std::vector<JobShare> found;
  found.reserve(jobs.size());
  for (auto& [key, job] : jobs) {
    job.key = key;
    found.push_back(std::move(job));
  }
  return found;
}

std::vector<std::string> job_keys(const Capture& capture) {
  std::vector<std::string> keys;
  for (JobShare& job : jobs_of(capture)) {
    keys.push_back(std::move(job.key));
  }
  return keys;
}

std::vector<JobShare> jobs_to_judge(const Capture& capture) {
  std::vector<JobShare> jobs = jobs_of(capture);
  JobTier best = JobTier::kPrograms;
  for (const JobShare& job : jobs) {
    best = std::max(best, job.tier);
  }
  std::erase_if(jobs, [best](const JobShare& job) { return job.tier < best; });
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const JobShare& a, const JobShare& b) { return a.ranks > b.ranks; });
  return jobs;
}

std::int32_t world_size_of(const Capture& capture) {
  if (const std::int32_t of_replicas = ranks_of_replicas(capture); of_replicas > 0) {
    return of_replicas;
  }
  std::int32_t of_groups = -1;
  std::int32_t of_variables = -1;
  for (const ProcessCapture& process : capture.processes) {
    const bool grouped = default_group_of(process.groups) != nullptr;
    std::int32_t& size = process.is_rank && grouped ? of_groups : of_variables;
    size = std::max(size, process.world_size);
  }
  return of_groups > 0 ? of_groups : of_variables;
}

std::vector<std::string> keys_to_select(const Capture& capture) {
  std::set<std::string, std::less<>> keys;
  for (const ProcessCapture& process : capture.processes) {
    if (is_counted(process) || process.outlives_rank) {
      keys.emplace(capture.tables.text(process.job_key));
    }
  }
  return {keys.begin(), keys.end()};
}

bool has_rank(const Capture& capture) {
  return std::any_of(capture.processes.begin(), capture.processes.end(), is_counted);
}

void keep_jobs(Capture& capture, const std::vector<std::string>& keys) {
  const auto is_wanted = [&](const ProcessCapture& process) {
    return std::find(keys.begin(), keys.end(), capture.tables.text(process.job_key)) != keys.end();
  };
  std::set<Place> owners;
  for (const ProcessCapture& process : capture.processes) {
    if (process.is_rank && is_wanted(process)) {
      owners.emplace(process.node, process.pid);
    }
  }
  std::set<Place> kept;
  std::set<std::uint32_t> nodes;
  std::erase_if(capture.processes, [&](const ProcessCapture& process) {
    const bool survivor = process.outlives_rank && is_wanted(process);
    const bool ours = survivor || owners.count(Place(process.node, process.owner)) != 0;
    if (ours) {
      kept.emplace(process.node, process.pid);
      nodes.insert(process.node);
    }
    return !ours;
  });
  std::erase_if(capture.collectives.flight, [&kept](const FlightRecord& record) {
    return record.pid != 0 && kept.count(Place(record.node, record.pid)) == 0;
  });
  for (std::uint32_t node = 0; node < capture.nodes.size(); ++node) {
    if (nodes.count(node) == 0) {
      capture.nodes[node].expected_ranks.clear();
    }
  }
}

void keep_job(Capture& capture, const std::string& key) {
  keep_jobs(capture, {key});
}

std::string choices(const std::vector<std::string>& keys) {
  std::string list;
  for (const std::string& key : keys) {
    list += "\n  --select " + shell_quoted(printable(key));
  }
  return list;
}

Status select_job(Capture& capture, const std::string& wanted, const JobSets& together) {
  const std::vector<std::string> keys = keys_to_select(capture);
  if (keys.empty()) {
    return ok();
  }
  std::vector<std::string> meant;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(meant),
               [&wanted](const std::string& key) { return is_meant(key, wanted); });
  if (std::find(meant.begin(), meant.end(), wanted) != meant.end()) {
    meant = {wanted};
  }
  if (meant.size() > 1) {
    return fail(Errc::kUsage, printable(wanted, 80) + " has ranks of several steps here",
                "choose one:" + choices(meant));
  }
  if (meant.empty()) {
    return fail(Errc::kNotFound, "no rank here belongs to " + shell_quoted(printable(wanted, 80)),
                "the jobs that have ranks here:" + choices(keys));
  }
  const std::vector<std::string> kept = set_with(together, meant.front());
  note_left_out(capture, kept);
  keep_jobs(capture, kept);
  return ok();
}

std::string_view user_in_key(std::string_view key) {
  const auto at = key.find(kOfUser);
  const std::string_view rest =
      at == std::string_view::npos ? std::string_view() : key.substr(at + kOfUser.size());
  return rest.substr(0, rest.find_first_not_of("0123456789"));
}

Capture job_of(const Capture& capture, const std::string& key) {
  Capture one;
  one.nodes = capture.nodes;
  one.job = capture.job;
  one.job.id = key;
  Carrier carrier(capture.tables, one.tables);
  for (const ProcessCapture& process : capture.processes) {
    one.processes.push_back(carrier.row(process));
  }
  for (const FlightRecord& record : capture.collectives.flight) {
    one.collectives.flight.push_back(carrier.row(record));
  }
  keep_job(one, key);
  one.job.world_size = world_size_of(one);
  return one;
}

}  // namespace oddrank::snapshot
