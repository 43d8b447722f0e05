#include "snapshot/join_samples.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace oddrank::snapshot {
namespace {

void append_thread(ThreadCapture& earlier, ThreadCapture later) {
  std::vector<ThreadSample> samples = std::move(earlier.samples);
  samples.insert(samples.end(), later.samples.begin(), later.samples.end());
  earlier = std::move(later);
  earlier.samples = std::move(samples);
}

}  // namespace

void append_samples(ProcessCapture& earlier, ProcessCapture later) {
  std::unordered_map<pid_t, std::size_t> known;
  for (std::size_t i = 0; i < earlier.threads.size(); ++i) {
    known.emplace(earlier.threads[i].tid, i);
  }
  std::vector<ThreadCapture> threads = std::move(earlier.threads);
  for (ThreadCapture& thread : later.threads) {
    const auto at = known.find(thread.tid);
    if (at == known.end()) {
      threads.push_back(std::move(thread));
    } else {
      append_thread(threads[at->second], std::move(thread));
    }
  }
  if (later.read < earlier.read) {
    earlier.why = later.why;
    earlier.state = later.state;
    earlier.stopped = std::max(earlier.stopped, later.stopped);
    earlier.longest_stop_us = std::max(earlier.longest_stop_us, later.longest_stop_us);
    earlier.threads = std::move(threads);
    return;
  }
  earlier = std::move(later);
  earlier.threads = std::move(threads);
}

}  // namespace oddrank::snapshot
