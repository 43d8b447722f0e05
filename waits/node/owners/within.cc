#include "waits/node/owners/within.h"

#include <algorithm>

namespace oddrank::waits {

bool has_whole_stacks(const snapshot::ProcessCapture& process, const snapshot::Tables& tables) {
  return std::ranges::all_of(process.threads, [&tables](const snapshot::ThreadCapture& thread) {
    return !thread.samples.empty() &&
           tables.stack(thread.samples.back().stack).end == snapshot::StackEnd::kComplete;
  });
}

void set_only_within(const std::vector<pid_t>& within, pid_t process, snapshot::Wait& wait) {
  if (within.size() != 1) {
    return;
  }
  wait.holder_pid = process;
  wait.holder_tid = within.front();
  wait.holder_alive = snapshot::Known::kYes;
  wait.inferred = true;
  wait.lock.owner = snapshot::LockOwner::kWithin;
}

}  // namespace oddrank::waits
