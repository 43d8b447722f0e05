#include "report/thread_classes.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "aggregate/crash_words.h"
#include "aggregate/frames/frame_model.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::report {

using aggregate::JobView;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

namespace {

// Describes where a thread of a pool is idle, and whose pool it is; "" = to be shown.
std::string pool_of(const JobView& view,
                    const ProcessCapture& process,
                    const ThreadCapture& thread) {
  if (thread.tid == process.pid || thread.samples.empty() || thread.samples.back().state == 'R') {
    return {};
  }
  const auto hit = view.model().idle_pool(thread.samples.back());
  if (!hit || (thread.has_python && hit->pattern->kind == snapshot::FrameKind::kNative)) {
    return {};
  }
  const auto& frames = view.model().fold(thread.samples.back()).frames;
  return fmt::format("in {} ({})", frames.empty() ? "?" : frames.front().name, hit->pattern->words);
}

std::string place_of(const JobView& view,
                     const ProcessCapture& process,
                     const ThreadCapture& thread) {
  return view.model().fold(thread.samples.back()).key +
         aggregate::thread_wait_words(view, process, thread);
}

}  // namespace

std::vector<std::int32_t> ThreadClass::tids() const {
  std::vector<std::int32_t> result;
  for (const ThreadCapture* thread : threads) {
    result.push_back(thread->tid);
  }
  return result;
}

std::vector<ThreadClass> classify_threads(const JobView& view,
                                          const ProcessCapture& process,
                                          bool all,
                                          bool locals) {
  std::vector<ThreadClass> classes;
  std::map<std::string, ThreadClass> pools;
  std::unordered_map<std::string, std::size_t> known;
  for (const ThreadCapture& thread : process.threads) {
    if (all || thread.tid == process.pid || thread.samples.empty() ||
        aggregate::has_crashed(process, thread)) {
      classes.push_back({{&thread}, {}});
      continue;
    }
    if (const std::string pool = pool_of(view, process, thread); !pool.empty()) {
      pools[pool].threads.push_back(&thread);
      continue;
    }
    if (locals && !thread.locals.empty()) {
      classes.push_back({{&thread}, {}});
      continue;
    }
    const auto [at, is_new] = known.try_emplace(place_of(view, process, thread), classes.size());
    if (is_new) {
      classes.push_back({{&thread}, {}});
    } else {
      classes[at->second].threads.push_back(&thread);
    }
  }
  std::stable_partition(classes.begin(), classes.end(), [&process](const ThreadClass& one) {
    return aggregate::has_crashed(process, *one.threads.front());
  });
  for (auto& [words, pool] : pools) {
    pool.pool = words;
    classes.push_back(std::move(pool));
  }
  return classes;
}

}  // namespace oddrank::report
