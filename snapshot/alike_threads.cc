#include "snapshot/alike_threads.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace oddrank::snapshot {
namespace {

// A hostile capture has as many kinds as threads. Pools start their threads one after another, so
// threads of a kind are near each other.
constexpr std::size_t kMaxKindsCompared = 8;

using NamedThreads = std::unordered_set<pid_t>;

// Adds the numbers of the threads that rows of the process name.
void add_named(const ProcessCapture& process, NamedThreads& named) {
  if (!process.crash.is_default()) {
    named.insert(process.crash->tid);
  }
  for (const AsyncTask& task : process.tasks) {
    named.insert(task.tid);
    named.insert(task.worker);
    named.insert(task.loop);
  }
  for (const ThreadCapture& thread : process.threads) {
    for (const pid_t tid : {thread.wait.holder_tid, thread.wait.lock.owner_tid}) {
      if (tid != 0) {
        named.insert(tid);
      }
    }
  }
}

// Returns the numbers of all threads that may be looked up by their number.
NamedThreads named_threads(const CaptureRows& rows) {
  NamedThreads named;
  for (const ProcessCapture& process : rows.processes) {
    add_named(process, named);
  }
  return named;
}

bool is_native_sleeper(const ThreadCapture& thread) {
  return !thread.has_python && !thread.call && thread.locals.empty() && thread.loops.empty() &&
         thread.places.empty() && thread.wait.holder_pid == 0 && thread.wait.rare.is_default() &&
         !thread.samples.empty() && thread.samples.all_equal() &&
         thread.samples.front().state == 'S';
}

// Returns whether they differ in numbers alone; both are native sleepers. The example takes the
// other one's numbers: comparing copies would take twice as long, for millions of threads.
bool are_alike(ThreadCapture& example, const ThreadCapture& other) {
  const ThreadSample& its = other.samples.front();
  if (example.samples.front().stack != its.stack || example.name != other.name ||
      (example.wait.quiet_ms < kOldWaitMs) != (other.wait.quiet_ms < kOldWaitMs)) {
    return false;
  }
  example.tid = other.tid;
  example.wait.address = other.wait.address;
  example.wait.quiet_ms = other.wait.quiet_ms;
  for (ThreadSample& sample : example.samples.stored()) {
    sample.cpu_us = its.cpu_us;
    sample.voluntary_switches = its.voluntary_switches;
    sample.involuntary_switches = its.involuntary_switches;
  }
  return example == other;
}

// The kinds of threads of one process, in the order of their first ones.
class ThreadKinds {
 public:
  // Returns whether enough of its kind came before.
  bool is_one_more(const ThreadCapture& thread);

 private:
  struct Kind {
    ThreadCapture example;
    std::size_t count = 0;
  };
  std::vector<Kind> kinds_;
};

bool ThreadKinds::is_one_more(const ThreadCapture& thread) {
  const auto compared = std::min(kinds_.size(), kMaxKindsCompared);
  const auto last = kinds_.rbegin() + static_cast<std::ptrdiff_t>(compared);
  const auto own = std::find_if(kinds_.rbegin(), last,
                                [&thread](Kind& kind) { return are_alike(kind.example, thread); });
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
