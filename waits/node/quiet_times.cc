#include "waits/node/quiet_times.h"

#include "attach/proc_sched.h"
#include "attach/proc_stat.h"
#include "attach/proc_task.h"

namespace oddrank::waits {

using std::chrono::milliseconds;

QuietTimes read_quiet_times(pid_t pid) {
  QuietTimes times;
  const auto clock = attach::RunClock::here();
  const auto tids = attach::read_tids(pid);
  if (!clock || !tids) {
    return times;
  }
  for (const pid_t tid : *tids) {
    const auto stat = attach::read_thread_stat(pid, tid);
    if (!stat || stat->state == 'R') {
      continue;
    }
    if (const auto quiet = clock->not_run_for(pid, tid, stat->cpu)) {
      times.emplace(tid, std::chrono::duration_cast<milliseconds>(*quiet));
    }
  }
  return times;
}

void keep_quiet_times(const QuietTimes& before, snapshot::ProcessCapture& process) {
  for (snapshot::ThreadCapture& thread : process.threads) {
    if (thread.samples.empty() || !thread.samples.back().stopped ||
        thread.samples.back().state == 'R') {
      continue;
    }
    const auto known = before.find(thread.tid);
    thread.wait.quiet_ms = known == before.end() ? -1 : known->second.count();
  }
}

}  // namespace oddrank::waits
