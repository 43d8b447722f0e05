#include "aggregate/view/without_work.h"

#include <algorithm>

#include "aggregate/view/coroutines.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/remote_calls.h"

namespace oddrank::aggregate {

using snapshot::ThreadCapture;

bool has_no_work(const JobView& view, const RankView& rank) {
  if (rank.decider == nullptr) {
    return false;
  }
  // A loop that asks for work again and again may be seen awake.
  const auto& samples = rank.decider->samples;
  const bool rests =
      rank.state() == 'S' ||
      (rank.state() == 'R' &&
       (keeps_waking(*rank.decider) ||
        std::ranges::any_of(samples, [](const auto& it) { return it.state == 'S'; })));
  return rests && waits_for_work(view.model(), *rank.decider) &&
         !waits_for_no_task(view.model(), *rank.process, *rank.decider) &&
         waiting_tasks(view.model(), rank).tasks.empty() &&
         std::ranges::none_of(rank.process->threads, [&view](const ThreadCapture& thread) {
           return thread.call || runs_function(view.model(), thread);
         });
}

namespace {

// Returns whether the rank was seen to wake again and again, outside of calls, in a loop that only
// an exception ends.
bool goes_round(const RankView& rank) {
  return rank.decider != nullptr && !rank.decider->call && !rank.decider->loops.empty() &&
         rank.decider->loops.front().endless && keeps_waking(*rank.decider);
}

}  // namespace

bool takes_turns(const JobView& view, const RankView& rank) {
  return goes_round(rank) && !rests_in_loop(view, *rank.decider) &&
         sleeps_on_purpose(*rank.decider, view.model());
}

bool waits_for_ends(const RankView& rank) {
  if (rank.decider == nullptr || rank.decider->call || rank.state() != 'S') {
    return false;
  }
  const snapshot::Wait& wait = rank.decider->wait;
  const auto brings = std::ranges::count_if(
      wait.rare->awaited, [](const snapshot::AwaitedFile& file) { return !file.tells_end; });
  return wait.on == snapshot::WaitOn::kChild ||
         (wait.rare->awaited_ends > 0 &&
          wait.rare->awaited_count ==
              wait.rare->awaited_ends + static_cast<std::uint64_t>(brings) &&
          std::ranges::all_of(wait.rare->awaited, [&rank](const snapshot::AwaitedFile& file) {
            return file.tells_end || file.holder_pid == rank.pid();
          }));
}

bool waits_in_turns(const RankView& rank) {
  return goes_round(rank) && rank.decider->wait.limited;
}

bool sleeps_for_set_time(const JobView& view, const RankView& rank) {
  return rank.decider != nullptr && !rank.decider->call && !rank.polls &&
         rank.decider->wait.limit_ms >= 0 && sleeps_on_purpose(*rank.decider, view.model());
}

bool does_nothing_beside(const JobView& view, const RankView& rank) {
  return waiting_tasks(view.model(), rank).tasks.empty() &&
         std::ranges::none_of(rank.process->threads, [&](const ThreadCapture& thread) {
           const auto frame = view.model().user_frame(last_sample(thread));
           return thread.call || runs_function(view.model(), thread) ||
                  (thread.has_python && &thread != rank.decider && frame && frame->user);
         });
}

}  // namespace oddrank::aggregate
