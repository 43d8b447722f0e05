#include "ranks/new_processes.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "attach/proc_pids.h"
#include "attach/proc_stat.h"
#include "ranks/process_facts.h"
#include "ranks/rank_table.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;

constexpr int kMaxGenerations = 64;
constexpr std::uint64_t kClockTickUs = 10'000;  // start times are counted in these

struct NewProcess {
  std::size_t above = 0;  // the row of the process that it descends from
  pid_t pid = 0;
};

std::map<pid_t, attach::ProcStat> read_all_stats() {
  std::map<pid_t, attach::ProcStat> all;
  const auto pids = attach::list_pids();
  for (const pid_t pid : pids.value_or(std::vector<pid_t>())) {
    if (auto stat = attach::read_proc_stat(pid); stat && !stat->kernel_thread) {
      all.emplace(pid, *std::move(stat));
    }
  }
  return all;
}

std::vector<NewProcess> find_new_processes(const Capture& capture, std::uint64_t since_us) {
  std::map<pid_t, std::size_t> rows;
  for (std::size_t at = 0; at < capture.processes.size(); ++at) {
    rows.emplace(capture.processes[at].pid, at);
  }
  const std::map<pid_t, attach::ProcStat> stats = read_all_stats();
  const pid_t self = ::getpid();
  std::vector<NewProcess> found;
  for (const auto& [pid, stat] : stats) {
    if (rows.contains(pid) || stat.start_us + kClockTickUs < since_us) {
      continue;
    }
    pid_t above = stat.parent;
    for (int generation = 0; generation < kMaxGenerations && above > 1; ++generation) {
      const auto row = rows.find(above);
      const auto next = stats.find(above);
      if (row != rows.end() || above == self || next == stats.end()) {
        break;
      }
      above = next->second.parent;
    }
    const auto row = rows.find(above);
    if (row != rows.end() && pid != self && found.size() < kMaxNewProcesses) {
      found.push_back({row->second, pid});
    }
  }
  return found;
}

}  // namespace

std::size_t add_new_processes(Capture& capture, std::uint64_t since_us) {
  const std::vector<NewProcess> started = find_new_processes(capture, since_us);
  if (started.empty()) {
    return 0;
  }
  std::vector<pid_t> pids;
  std::transform(started.begin(), started.end(), std::back_inserter(pids),
                 [](const NewProcess& each) { return each.pid; });
  const auto facts = read_process_facts(pids);
  if (!facts) {
    return 0;
  }
  std::size_t added = 0;
  for (const NewProcess& each : started) {
    const auto own = std::find_if(facts->begin(), facts->end(), [&](const ProcessFacts& one) {
      return one.stat.pid == each.pid;
    });
    if (own == facts->end()) {
      continue;  // it has ended again
    }
    const ProcessCapture& above = capture.processes[each.above];
    RankRow row;
    row.owner = above.owner != 0 ? above.owner : above.pid;
    row.rank = above.rank;
    row.local_rank = above.local_rank;
    row.world_size = above.world_size;
    row.job = capture.tables.text(above.job_key);
    append_row(*own, row, capture);
    ++added;
  }
  return added;
}

}  // namespace oddrank::ranks
