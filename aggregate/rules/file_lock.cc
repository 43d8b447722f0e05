// A lock file, or a lock on a file. The culprit is the holder's rank if the holder is another
// process of it, or the rank has no other story; otherwise the waiting rank.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/words/advised_path.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// Returns whether the rank polls until a file disappears whose maker is gone. Locks of flock() and
// fcntl() end with their holder, so they are never stale.
bool is_left_behind(const RankView& rank) {
  return rank.decider != nullptr && rank.decider->wait.how == snapshot::WaitHow::kLockFile &&
         rank.decider->wait.holder_alive == snapshot::Known::kNo;
}

// Returns the other rank that the lock's holder belongs to; null if it belongs to none, or is a
// rank itself.
const RankView* owner_of_holder(const JobView& view, const RankView& rank) {
  const auto* holder = view.process(rank.process->node, rank.decider->wait.holder_pid);
  return holder == nullptr || holder->is_rank ? nullptr : view.other_owner(*holder, rank);
}

std::string file_lock_predicate(const JobView& view, const RankView& rank) {
  const WaitsFor wait = waits_for(view, rank);
  std::string text = "waits for a file lock";
  if (!wait.path.empty()) {
    text += " on " + wait.path;
  }
  if (is_left_behind(rank)) {
    return text + (wait.pid == 0
                       ? std::string(", which is stale: the process that made it is gone")
                       : fmt::format(", which is stale: pid {}, which made it, is gone", wait.pid));
  }
  if (wait.holder_alive == snapshot::Known::kNo) {
    return text + "; the process that took it is gone, one that inherited it has it";
  }
  const auto* holder = awaited_process(view, *rank.process);
  if (holder != nullptr && holder != rank.process && holder->owner == rank.process->pid) {
    return fmt::format("{}, held by its {} pid {}, which {}", text, child_words(view, *holder),
                       holder->pid, stuck_words(view, *holder));
  }
  if (wait.pid != 0) {
    const RankView* owner = owner_of_holder(view, rank);
    return fmt::format("{}, held by pid {}{}", text, wait.pid,
                       owner == nullptr ? "" : ", which belongs to " + JobView::name(*owner));
  }
  // Its maker and age tell whether it was left behind.
  const bool file =
      rank.decider != nullptr && rank.decider->wait.how == snapshot::WaitHow::kLockFile;
  const std::string notes =
      file ? printable(view.text(rank.decider->wait.rare->notes)) : std::string();
  return notes.empty() ? text : fmt::format("{} ({})", text, notes);
}

// The rank that has a lock, and the process that has it: the rank's own, or one that it has
// started.
struct LockKeeper {
  std::size_t rank = JobView::kNone;
  const snapshot::ProcessCapture* process = nullptr;
};

// Returns the keeper of the lock that `at` waits for; without a rank if no other rank has it.
LockKeeper holder_of(const RuleInput& input, std::size_t at) {
  const RankView& rank = input.end(at).view();
  if (rank.decider == nullptr || rank.decider->wait.on != snapshot::WaitOn::kFileLock) {
    return {};
  }
  const auto* holder = awaited_process(input.view, *rank.process);
  const std::size_t owner = holder == nullptr ? JobView::kNone : input.view.index_of_owner(*holder);
  return owner == at ? LockKeeper() : LockKeeper{owner, holder};
}

// Returns "rank 1 has the lock /x (pid 12), which rank 2 waits for, and sleeps in ...", or the same
// about a process of the rank.
std::string keeper_words(const RuleInput& input,
                         const LockKeeper& keeper,
                         std::size_t waiter,
                         const WaitsFor& wait) {
  const RankView& rank = input.rank(keeper.rank);
  const std::string waits = ranks_words(input, {waiter});
  return keeper.process->is_rank
             ? fmt::format("{} has the lock {} (pid {}), which {} waits for, and {}",
                           JobView::name(rank), wait.path, wait.pid, waits,
                           phase_of(input.view, rank))
             : fmt::format("{}: its {} pid {} has the lock {}, which {} waits for",
                           JobView::name(rank), child_words(input.view, *keeper.process),
                           keeper.process->pid, wait.path, waits);
}

std::vector<Finding> by_holder(const RuleInput& input) {
  for (std::size_t at = 0; at < input.view.ranks().size(); ++at) {
    const LockKeeper keeper = holder_of(input, at);
    const std::size_t holder = keeper.rank;
    const bool tells =
        holder != JobView::kNone &&
        (!keeper.process->is_rank || local_story(input, holder) == Kind::kSkippedCollective);
    if (!tells || std::ranges::find(input.about.ranks, holder) == input.about.ranks.end()) {
      continue;
    }
    const RankView& rank = input.rank(holder);
    const RankView& waiter = input.end(at).view();
    // A rank that polls moves by design: that is no evidence against the wait.
    const bool polls = waiter.decider->wait.inferred;
    Finding finding =
        accuse(input, Kind::kFileLock, {holder}, polls ? Evidence::kState : Evidence::kOwnStall);
    if (polls) {
      finding.at_most(Confidence::kLikely);
    }
    const WaitsFor wait = waits_for(input.view, waiter);
    finding.summary = keeper_words(input, keeper, at, wait);
    if (!keeper.process->is_rank) {
      finding.at_most(Confidence::kLikely);
    }
    finding.advice = {
        on_live(rank, fmt::format("oddrank node {}  (the holder)", keeper.process->pid))};
    finding.disproves = {"the lock changing hands"};
    finding.weakness = "the lock may be released in time";
    return {finding};
  }
  return {};
}

}  // namespace

std::vector<Finding> file_lock(const RuleInput& input) {
  if (auto found = by_holder(input); !found.empty()) {
    return found;
  }
  const std::vector<std::size_t>& ranks = input.with_story;
  if (ranks.empty()) {
    return {};
  }
  Finding finding = accuse(input, Evidence::kOwnStall);
  const bool own = is_in_file_lock(input, input.rank(ranks.front()));
  const RankView& first = own ? input.rank(ranks.front()) : input.end(ranks.front()).view();
  const WaitsFor wait = waits_for(input.view, first);
  const bool holder_known =
      wait.pid == 0 || input.view.process(first.process->node, wait.pid) != nullptr;
  if (!holder_known && !input.view.all_read()) {
    finding.at_most(Confidence::kPossible);  // the holder may be a rank's process
  }
  if (owner_of_holder(input.view, first) != nullptr) {
    finding.at_most(Confidence::kLikely);
    finding.weakness = "the other rank may have left it locked";
  }
  finding.summary = (own ? sentence : sentence_of_end)(
      input, ranks,
      [&input](const RankView& rank) { return file_lock_predicate(input.view, rank); });
  const std::string path = advised_path(input.view, *first.process, wait.path);
  const bool local = wait.pid != 0 && wait.holder_alive == snapshot::Known::kYes;
  if (is_left_behind(first) && !wait.path.empty()) {
    finding.advice.push_back(
        on(first, fmt::format("{}rm -- {}  (stale: the process that made it is gone)",
                              as_its_user(input.view, *first.process), path)));
  } else if (local) {
    finding.advice.push_back(
        on_live(first, fmt::format("oddrank node {}  (the holder)", wait.pid)));
  } else if (first.decider->wait.how == snapshot::WaitHow::kLockFile) {
    finding.advice.push_back(
        on(first, fmt::format("ls -l {}; lsof {}  (made when, open where?)", path, path)));
    finding.advice.emplace_back(
        "if the process that made it is gone, remove it, as the rank's user and not as root");
  } else {
    finding.advice.push_back(on_live(first, fmt::format("cat /proc/locks; lsof {}", path)));
  }
  finding.disproves = {"the lock changing hands"};
  finding.weakness = "the lock may be released in time";
  return {finding};
}

}  // namespace oddrank::aggregate
