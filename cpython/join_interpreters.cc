#include "cpython/join_interpreters.h"

#include <sys/types.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace oddrank::cpython {
namespace {

// Puts `inner` in front of a thread's frames, and a row between them that says so.
void put_in_front(PythonThread inner, PythonThread& thread) {
  if (!thread.frames.empty()) {
    inner.frames.emplace_back().function =
        "<interpreter " + std::to_string(inner.interpreter) + " called here>";
  }
  std::move(thread.frames.begin(), thread.frames.end(), std::back_inserter(inner.frames));
  inner.cut |= thread.cut;
  inner.too_long |= thread.too_long;
  inner.without_locals += thread.without_locals;
  inner.whole &= thread.whole;
  inner.collects |= thread.collects;
  inner.generation = std::max(inner.generation, thread.generation);
  inner.finalizes |= thread.finalizes;
  if (thread.holds_gil) {
    inner.holds_gil = true;
    inner.gil = thread.gil;
  }
  if (inner.name.empty()) {
    inner.name = std::move(thread.name);
  }
  thread = std::move(inner);
}

}  // namespace

std::vector<PythonThread> join_interpreters(std::vector<OrderedThread> all) {
  std::unordered_map<pid_t, std::vector<std::size_t>> of_tid;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].thread.target_tid != 0) {
      of_tid[all[i].thread.target_tid].push_back(i);
    }
  }
  std::vector<PythonThread> threads;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto found = of_tid.find(all[i].thread.target_tid);
    if (found == of_tid.end()) {
      threads.push_back(std::move(all[i].thread));
      continue;
    }
    std::vector<std::size_t>& states = found->second;
    if (states.empty()) {
      continue;  // joined with the first of its states
    }
    // Up to 3.10 there is no anchor; then the older interpreter called the newer.
    std::sort(states.begin(), states.end(), [&all](std::size_t a, std::size_t b) {
      return std::tuple(all[b].anchor, b) < std::tuple(all[a].anchor, a);
    });
    PythonThread thread = std::move(all[states.front()].thread);
    for (const std::size_t inner : std::span(states).subspan(1)) {
      if (!all[inner].thread.frames.empty()) {
        put_in_front(std::move(all[inner].thread), thread);
      }
    }
    states.clear();
    threads.push_back(std::move(thread));
  }
  return threads;
}

}  // namespace oddrank::cpython
