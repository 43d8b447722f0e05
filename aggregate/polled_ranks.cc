#include "aggregate/polled_ranks.h"

#include <algorithm>

#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {

using snapshot::AwaitedFile;
using snapshot::ProcessCapture;

namespace {

// Returns the process at the other end; null if it is not known.
const ProcessCapture* at_other_end(const JobView& view,
                                   const ProcessCapture& process,
                                   const AwaitedFile& file) {
  if (file.holder_pid != 0) {
    return view.process(process.node, file.holder_pid);
  }
  snapshot::Wait wait;
  wait.rare.edit().local = file.local;
  wait.rare.edit().peer = file.peer;
  return view.other_end(wait);
}

// Returns the index of the rank that the process is, or that has started it; JobView::kNone if no
// rank has.
std::size_t rank_of(const JobView& view, const ProcessCapture& process) {
  const ProcessCapture* rank =
      process.is_rank ? &process : view.process(process.node, process.owner);
  if (rank == nullptr || !rank->is_rank) {
    return JobView::kNone;
  }
  return view.index_of_rank(*rank);
}

}  // namespace

PolledRanks polled_ranks(const JobView& view, const RankView& rank) {
  PolledRanks found;
  if (rank.leader == nullptr || rank.leader->call ||
      rank.leader->wait.how != snapshot::WaitHow::kFiles ||
      awaited_process(view, *rank.process) != nullptr) {
    return found;
  }
  const snapshot::RareWaitFacts& wait = *rank.leader->wait.rare;
  found.all = wait.awaited_count == wait.awaited.size();
  for (const AwaitedFile& file : wait.awaited) {
    const ProcessCapture* other = at_other_end(view, *rank.process, file);
    if (other != nullptr && other->owner == rank.process->pid) {
      return {};
    }
    const std::size_t at = other == nullptr ? JobView::kNone : rank_of(view, *other);
    if (at == JobView::kNone) {
      found.all = false;
      continue;
    }
    found.ranks.push_back(at);
    const bool owes = file.received_ms >= 0 && file.received_ms < file.sent_ms;
    found.owes_all = found.owes_all && owes;
  }
  std::sort(found.ranks.begin(), found.ranks.end());
  found.ranks.erase(std::unique(found.ranks.begin(), found.ranks.end()), found.ranks.end());
  return found;
}

}  // namespace oddrank::aggregate
