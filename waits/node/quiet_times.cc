#include "waits/node/quiet_times.h"

#include "attach/clocks/run_clock.h"
#include "attach/proc_stat.h"

namespace oddrank::waits {

using std::chrono::milliseconds;

QuietTimes read_quiet_times(pid_t pid, std::span<const attach::ThreadState> threads) {
  QuietTimes times;
  auto clock = attach::RunClock::here();
  if (!clock) {
    return times;
  }
  for (const attach::ThreadState& thread : threads) {
    const auto stat = attach::read_thread_stat(pid, thread.tid);
    if (!stat || stat->state == 'R') {
      continue;
    }
    if (const auto quiet = clock->find_not_run_for(pid, thread.tid, stat->cpu)) {
      times.emplace(thread.tid, std::chrono::duration_cast<milliseconds>(*quiet));
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
