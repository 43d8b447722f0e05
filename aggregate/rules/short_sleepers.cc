#include "aggregate/rules/short_sleepers.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "aggregate/rules/local_story.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {

using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::WaitOn;

namespace {

// Returns the thread in which the rank's wait ends, if it sleeps or waits for a child; else null.
const ThreadCapture* sleeper_of(const RuleInput& input, const RankView& rank) {
  const JobView& view = input.view;
  const RankView& end = input.end(rank).view();
  const ProcessCapture* child = awaited_process(view, *end.process);
  const ThreadCapture* last = child != nullptr ? deciding_thread(view, *child) : end.decider;
  const bool sleeps = last != nullptr && !last->samples.empty() &&
                      last->samples.back().state == 'S' &&
                      (last->wait.on == WaitOn::kChild || sleeps_on_purpose(*last, view.model()));
  return sleeps ? last : nullptr;
}

// Returns for how long a rank has waited in a call, at most.
std::int64_t longest_wait_ms(const JobView& view) {
  std::int64_t longest = -1;
  for (const RankView& rank : view.ranks()) {
    if (rank.decider != nullptr && rank.decider->call) {
      longest = std::max(longest, rank.decider->wait.quiet_ms);
    }
  }
  return longest;
}

bool ticks(const ThreadCapture& sleeper, std::int64_t longest_ms) {
  constexpr std::int64_t kManyTimes = 4;
  const std::int64_t quiet_ms = sleeper.wait.quiet_ms;
  if (quiet_ms < 0 && sleeper.samples.size() < 2) {
    return true;  // as far as one look tells
  }
  return keeps_waking(sleeper) || (quiet_ms >= 0 && quiet_ms * kManyTimes < longest_ms);
}

}  // namespace

std::vector<std::size_t> short_sleepers_among(const RuleInput& input,
                                              const std::vector<std::size_t>& ranks) {
  const std::int64_t longest_ms = longest_wait_ms(input.view);
  std::vector<std::size_t> found;
  std::ranges::copy_if(ranks, std::back_inserter(found), [&](std::size_t at) {
    const RankView& rank = input.rank(at);
    const ThreadCapture* sleeper =
        rank.decider == nullptr || rank.decider->call ? nullptr : sleeper_of(input, rank);
    return sleeper != nullptr && ticks(*sleeper, longest_ms);
  });
  return found;
}

bool waits_in_vain(const RankView& rank) {
  const auto& threads = rank.process->threads;
  return is_at_own_lock(*rank.decider) &&
         std::ranges::all_of(threads, [](const ThreadCapture& thread) {
           return !thread.has_python || is_at_own_lock(thread);
         });
}

}  // namespace oddrank::aggregate
