#include "aggregate/evidence/holders.h"

#include <algorithm>

#include "aggregate/view/thread_cycle.h"

namespace oddrank::aggregate {

using snapshot::AwaitedFile;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::Wait;
using snapshot::WaitHow;

namespace {

void add_holder_of(Holders& holders, const ProcessCapture* process, const ThreadCapture* thread) {
  const auto known = std::any_of(holders.who.begin(), holders.who.end(), [&](const Holder& one) {
    return one.process == process && one.thread == thread;
  });
  if (!known) {
    holders.who.push_back({process, thread});
  }
}

// Returns the process at the other end; null if it is not known.
const ProcessCapture* at_other_end(const JobView& view,
                                   const ProcessCapture& process,
                                   const AwaitedFile& file) {
  if (file.holder_pid != 0) {
    return view.process(process.node, file.holder_pid);
  }
  return view.other_end(file.local, file.peer);
}

bool has_sent(const AwaitedFile& file) {
  return file.received_ms >= 0 && file.received_ms < file.sent_ms;
}

// Select, poll and epoll: whoever of the other ends comes first.
Holders of_files(const JobView& view, const ProcessCapture& process, const Wait& wait) {
  Holders holders;
  holders.join = Join::kAny;
  holders.have_sent = true;
  holders.others = wait.rare->awaited_count != wait.rare->awaited.size();
  for (const AwaitedFile& file : wait.rare->awaited) {
    const ProcessCapture* other = at_other_end(view, process, file);
    if (other == nullptr || other == &process) {
      holders.others = true;
    } else {
      add_holder_of(holders, other, nullptr);
      holders.have_sent = holders.have_sent && has_sent(file);
    }
  }
  return holders;
}

// Workers of a pool: one of them has the work.
Holders of_pool(const JobView& view, const ProcessCapture& process, const Wait& wait) {
  Holders holders;
  holders.join = Join::kOneOf;
  holders.how = HowKnown::kFrames;
  const snapshot::PoolWait& pool = wait.rare->pool;
  for (const pid_t pid : pool.pids) {
    const ProcessCapture* worker = view.process(process.node, pid);
    if (worker != nullptr) {
      add_holder_of(holders, worker, nullptr);
    }
  }
  holders.alike = pool.meant - std::min<std::size_t>(pool.meant, holders.who.size());
  holders.others = holders.who.size() < pool.pids.size();
  return holders;
}

}  // namespace

Holders holders_of(const JobView& view,
                   const ProcessCapture& process,
                   const ThreadCapture& thread) {
  Holders holders;
  const Wait& wait = thread.wait;
  if (thread.call) {
    return holders;
  }
  if (const ThreadCapture* owner = awaited_thread(process, thread)) {
    // Another user of an object need not be the one that is meant.
    const bool shares = wait.how == WaitHow::kObject;
    holders.join = shares ? Join::kOneOf : Join::kAll;
    holders.others = shares;
    holders.how = wait.inferred ? HowKnown::kFrames : HowKnown::kMemory;
    add_holder_of(holders, &process, owner);
  } else if (const ProcessCapture* other = view.awaited_by(process, thread)) {
    holders.how = wait.inferred ? HowKnown::kFrames : HowKnown::kKernel;
    add_holder_of(holders, other, nullptr);
  } else if (wait.rare->about == snapshot::WaitAbout::kPool) {
    return of_pool(view, process, wait);
  } else if (wait.how == WaitHow::kFiles) {
    return of_files(view, process, wait);
  }
  return holders;
}

}  // namespace oddrank::aggregate
