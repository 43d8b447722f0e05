#include "snapshot/jobs/linked_jobs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>

#include "snapshot/jobs/jobs.h"

namespace oddrank::snapshot {

JobSets linked_jobs(const std::vector<std::string>& jobs, const std::vector<JobEnd>& ends) {
  std::map<std::string_view, std::size_t> set_of;
  for (const std::string& job : jobs) {
    set_of.emplace(job, set_of.size());
  }
  std::map<std::string, std::string_view> seen;  // the job of a connection, by its addresses
  for (const JobEnd& end : ends) {
    seen.emplace(end.local + " " + end.peer, end.job);
    const auto other = seen.find(end.peer + " " + end.local);
    const auto own = set_of.find(end.job);
    if (other == seen.end() || own == set_of.end() || !set_of.contains(other->second)) {
      continue;
    }
    const std::size_t from = own->second;
    const std::size_t to = set_of[other->second];
    for (auto& [job, set] : set_of) {
      set = set == from ? to : set;
    }
  }
  std::map<std::size_t, std::vector<std::string>> sets;
  for (const auto& [job, set] : set_of) {
    sets[set].emplace_back(job);
  }
  JobSets found;
  for (auto& [set, members] : sets) {
    found.push_back(std::move(members));
  }
  return found;
}

JobSets linked_jobs(const Capture& capture) {
  std::vector<JobEnd> ends;
  for (const ProcessCapture& process : capture.processes) {
    const std::string job(capture.tables.text(process.job_key));
    for (const Connection& one : process.connections) {
      ends.push_back({job, std::string(capture.tables.text(one.local)),
                      std::string(capture.tables.text(one.peer))});
    }
    for (const ProcessGroup& row : process.groups) {
      if (const auto met = met_without_host(capture.tables.text(row.met_at)); !met.empty()) {
        ends.push_back({job, std::string(met), std::string(met)});
      }
    }
  }
  return linked_jobs(job_keys(capture), ends);
}

std::vector<std::string> set_with(const JobSets& sets, const std::string& job) {
  const auto at = std::ranges::find_if(sets, [&job](const std::vector<std::string>& set) {
    return std::ranges::find(set, job) != set.end();
  });
  return at == sets.end() ? std::vector<std::string>{job} : *at;
}

std::string_view met_without_host(std::string_view met_at) {
  const std::size_t port = met_at.starts_with('/') ? 0 : met_at.find(':');
  return met_at.substr(std::min(port, met_at.size()));
}

}  // namespace oddrank::snapshot
