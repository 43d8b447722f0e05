#include "snapshot/alike_threads.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace oddrank::snapshot {
namespace {

// A hostile capture has as many kinds as threads. Pools start their threads one after another, so
// that those of a kind are near each other.
constexpr std::size_t kMaxKindsCompared = 8;

using NamedThreads = std::unordered_set<pid_t>;

// Returns the numbers of all threads that may be looked up by their number.
NamedThreads named_threads(const CaptureRows& rows) {
  NamedThreads named;
  for (const ProcessCapture& process : rows.processes) {
    if (!process.crash.is_default()) {
      named.insert(process.crash->tid);
    }
    for (const ThreadCapture& thread : process.threads) {
      for (const pid_t tid : {thread.wait.holder_tid, thread.wait.lock.owner_tid}) {
        if (tid != 0) {
          named.insert(tid);
        }
      }
    }
  }
  return named;
}

bool is_native_sleeper(const ThreadCapture& thread) {
  return !thread.has_python && !thread.call && thread.locals.empty() && thread.loops.empty() &&
         thread.wait.holder_pid == 0 && thread.wait.rare.is_default() && !thread.samples.empty() &&
         thread.samples.all_equal() && thread.samples.front().state == 'S';
}

// Returns whether they differ in numbers alone; both are native sleepers.
bool are_alike(const ThreadCapture& one, const ThreadCapture& other) {
  if (one.wait.syscall != other.wait.syscall || one.name != other.name ||
      one.samples.front().stack != other.samples.front().stack ||
      (one.wait.quiet_ms < kOldWaitMs) != (other.wait.quiet_ms < kOldWaitMs)) {
    return false;
  }
  ThreadCapture same = other;
  same.tid = one.tid;
  same.wait.address = one.wait.address;
  same.wait.quiet_ms = one.wait.quiet_ms;
  for (ThreadSample& sample : same.samples.stored()) {
    sample.cpu_us = one.samples.front().cpu_us;
    sample.voluntary_switches = one.samples.front().voluntary_switches;
    sample.involuntary_switches = one.samples.front().involuntary_switches;
  }
  return same == one;
}

// The kinds of threads of one process, in the order of their first ones.
class ThreadKinds {
 public:
  // Returns whether enough of its kind came before.
  bool is_one_more(const ThreadCapture& thread);

 private:
  struct Kind {
    ThreadCapture first;
    std::size_t count = 0;
  };
  std::vector<Kind> kinds_;
};

bool ThreadKinds::is_one_more(const ThreadCapture& thread) {
  const auto compared = std::min(kinds_.size(), kMaxKindsCompared);
  const auto last = kinds_.rbegin() + static_cast<std::ptrdiff_t>(compared);
  const auto own = std::find_if(
      kinds_.rbegin(), last, [&thread](const Kind& kind) { return are_alike(kind.first, thread); });
  if (own == last) {
    kinds_.push_back({thread, 1});
    return false;
  }
  return ++own->count > kKeptOfAKind;
}

}  // namespace

void drop_alike_threads(CaptureRows& rows) {
  const NamedThreads named = named_threads(rows);
  for (ProcessCapture& process : rows.processes) {
    ThreadKinds kinds;
    process.threads_left_out +=
        static_cast<std::uint32_t>(std::erase_if(process.threads, [&](const ThreadCapture& thread) {
          return thread.tid != process.pid && is_native_sleeper(thread) &&
                 !named.contains(thread.tid) && kinds.is_one_more(thread);
        }));
    process.threads.shrink_to_fit();
  }
}

std::size_t count_threads(const ProcessCapture& process) {
  return process.threads.size() + process.threads_left_out;
}

std::size_t count_threads(const CaptureRows& rows) {
  std::size_t count = 0;
  for (const ProcessCapture& process : rows.processes) {
    count += count_threads(process);
  }
  return count;
}

}  // namespace oddrank::snapshot
