#include "aggregate/side_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/view/quiet_span.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "base/few_notes.h"
#include "snapshot/wait.h"

namespace oddrank::aggregate {
namespace {

using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::StringId;

struct SideCall {
  const CollectiveCall* call = nullptr;
  std::set<std::int32_t> inside;
  QuietSpan quiet;
};

using SideKey = std::tuple<bool, StringId, StringId, StringId, std::int64_t>;

SideKey side_key(const CollectiveCall& call) {
  return {call.whole_world, call.group, call.members, call.op, call.sequence};
}

std::map<SideKey, SideCall> find_side_calls(const JobView& view) {
  std::map<SideKey, SideCall> calls;
  for (const RankView& rank : view.ranks()) {
    for (const snapshot::ThreadCapture* thread : rank.beside) {
      if (thread->call->kind != CallKind::kCollective || rank.rank < 0) {
        continue;
      }
      SideCall& side = calls[side_key(*thread->call)];
      side.call = &*thread->call;
      side.inside.insert(rank.rank);
      side.quiet.add(*thread);
    }
  }
  for (const RankView& rank : view.ranks()) {
    if (calls.empty()) {
      break;  // in most jobs, no thread is in a call beside the main threads
    }
    if (rank.decider != nullptr && rank.decider->call) {
      calls.erase(side_key(*rank.decider->call));
    }
  }
  return calls;
}

std::string words_of(const JobView& view, const SideCall& side) {
  std::vector<std::int32_t> missing;
  for (const std::int32_t rank : view.ranks_of(side.call->members)) {
    const std::size_t at = view.index_of(rank);
    const bool read = at != JobView::kNone && view.rank(at).presence == Presence::kRead;
    if (read && !side.inside.contains(rank)) {
      missing.push_back(rank);
    }
  }
  if (missing.empty() || !side.quiet.tells() || side.quiet.least_ms() < snapshot::kOldWaitMs) {
    return {};
  }
  return fmt::format("beside the main threads, threads of {} have waited in {} {}; {} {} not in it",
                     ranks_phrase({side.inside.begin(), side.inside.end()}),
                     call_words(view, *side.call), side.quiet.words(), ranks_phrase(missing),
                     missing.size() == 1 ? "is" : "are");
}

}  // namespace

std::vector<std::string> side_call_notes(const JobView& view) {
  FewNotes notes(kMaxSideCalls, "calls beside the main threads");
  for (const auto& [key, side] : find_side_calls(view)) {
    std::string words = words_of(view, side);
    if (!words.empty()) {
      notes.add(std::move(words));
    }
  }
  return notes.take();
}

}  // namespace oddrank::aggregate
