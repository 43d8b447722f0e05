#include "aggregate/blame/blame.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

#include "aggregate/blame/local_story.h"
#include "aggregate/evidence/server_waits.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/view/coroutines.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"
#include "snapshot/flight_record.h"
#include "snapshot/loops/named_loop.h"

namespace oddrank::aggregate {

using snapshot::PollOn;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::WaitOn;

namespace {

// Returns whether all calls of NCCL in the rank's memory have ended, as PyTorch's watchdog noted,
// and it has given up none: then the rank's device does something of its own. (Limit: replays of
// CUDA graphs are not recorded.)
bool has_ended_all_calls(const JobView& view, const RankView& rank) {
  return rank.recorded != nullptr && !rank.recorded->entries.empty() &&
         std::ranges::all_of(rank.recorded->entries, [&view](const snapshot::FlightEntry& entry) {
           return entry.retired && view.text(entry.backend) == "nccl" &&
                  snapshot::has_ended(entry, view.capture().tables);
         });
}

// Returns whether the rank waits for a thread of its own that sleeps or works.
bool waits_for_worker(const JobView& view, const RankView& rank) {
  const auto* last = follow_threads(*rank.process, *rank.decider).end();
  return last != nullptr && last != rank.decider && is_at_work(*last, view.model());
}

// Returns whether nothing is left that could end the rank's wait: all threads of its process that
// run Python are at such locks.
bool waits_in_vain(const RankView& rank) {
  const auto& threads = rank.process->threads;
  return is_at_own_lock(*rank.decider) &&
         std::ranges::all_of(threads, [](const ThreadCapture& thread) {
           return !thread.has_python || is_at_own_lock(thread);
         });
}

// Returns whether the rank's only Python thread polls, in a loop of the program, only for what
// another thread would have to do; by itself, or in a wait of the library with a time limit.
bool asks_itself(const JobView& view, const RankView& rank) {
  const ThreadCapture& thread = *rank.decider;
  if (!is_last_of_python(*rank.process, thread) || thread.loops.empty() ||
      !(rank.polls || is_at_python_lock(thread))) {
    return false;
  }
  const snapshot::Tables& tables = view.capture().tables;
  const snapshot::PythonLoop& loop = thread.loops.front();
  const auto& frames = tables.stack(thread.samples.back().python_frames()).frames;
  const auto own = std::ranges::find_if(
      frames, [&view](snapshot::FrameId id) { return view.model().shown(id).user; });
  std::size_t asking = 0;
  for (const snapshot::NamedCall& call : snapshot::named_loop(loop, tables).calls) {
    const auto asked = snapshot::asked_by(call);
    if (asked && !snapshot::is_of_own_process(*asked)) {
      return false;
    }
    asking += asked ? 1U : 0U;
  }
  return asking > 0 && !loop.cut && own != frames.end() && own - frames.begin() == loop.frame;
}

// Returns whether the rank, in its own code, waits for an unknown holder.
bool waits_for_somebody(const RuleInput& input, const RankView& rank) {
  if (rank.decider == nullptr) {
    return false;
  }
  const RankView& last = input.end(rank).view();
  if (asks_itself(input.view, last)) {
    return false;
  }
  if (last.polls || waits_for_key(input.view, last) ||
      keeps_resting(*last.decider, input.view.model())) {
    return true;
  }
  switch (last.decider->wait.on) {
    case WaitOn::kLock:
    case WaitOn::kThread:
      // A child has no part in calls of the job, so it waits for something of its own rank, unless
      // other processes may release it.
      return is_shared_lock(last.decider->wait) ||
             (last.process == rank.process && !waits_for_worker(input.view, rank) &&
              (!waits_in_vain(last) || is_open(input.view, last)));
    case WaitOn::kPipe:
    case WaitOn::kSocket:
      if (waits_for_no_task(input.view.model(), *last.process, *last.decider)) {
        return false;
      }
      return input.view.awaited_by(*last.process, *last.decider) == nullptr &&
             !has_end_outside(input.view, last);
    case WaitOn::kUnknown:
      return is_to_be_woken(input.view, last);
    default:
      return false;
  }
}

// Returns whether it is unknown who has the file lock: it may be another rank.
bool lacks_holder(const snapshot::ThreadCapture& thread) {
  return thread.wait.holder_pid == 0 && thread.wait.holder_alive != snapshot::Known::kNo;
}

// Returns whether it is unknown which process should read from the pipe: it may be another rank's.
bool lacks_reader(const JobView& view, const RankView& rank) {
  return waits_for_reader(view, rank) && !has_end_outside(view, rank) && !is_at_own_end(rank);
}

// Returns whether frames or a file show that the answer has to come from outside of the job.
bool is_answered_outside(const JobView& view, const RankView& rank) {
  return waits_at_terminal(view, rank) || talks_to_service(view, rank) || rank.lacks_resources();
}

// Python's frames are not needed if the call is known.
bool is_partial(const RankView& rank) {
  if (rank.decider != nullptr && rank.decider->call) {
    return false;
  }
  return rank.presence == Presence::kUnread ||
         (rank.presence == Presence::kPartial && rank.state() != 'D' && !rank.stays_stopped());
}

// Returns whether the rank waits for an answer, and it is not known which process owes it.
bool awaits_unknown(const JobView& view, const RankView& rank) {
  return rank.speaks_by_coroutine()
             ? !rank.coroutine->inside
             : rank.wants.empty() && asks_another_process(view.model(), rank);
}

bool is_of_coroutine(const GraphNode& node) {
  return node.kind == NodeKind::kThread && is_coroutine(*node.thread);
}

// Returns whether the node may hold up others whatever its rank waits for. Not a coroutine that a
// clock may let go on before any rank has waited long for it (`overdue`).
bool is_apart(const GraphNode& node, bool overdue) {
  return node.kind == NodeKind::kProcess ||
         (is_of_coroutine(node) && (!node.thread->wait.limited || overdue));
}

void mark(const RuleInput& input, const std::vector<BlockedOn>& blocked, WaitGraph& graph) {
  WaitNet& net = graph.net;
  for (std::size_t node = 0; node < net.nodes.size(); ++node) {
    const std::size_t owner = net.nodes[node].owner;
    if (owner >= blocked.size()) {
      continue;
    }
    const BlockedOn on = blocked[owner];
    const RankView& rank = input.rank(owner);
    net.nodes[node].able = node == owner && !is_held(input, rank);
    if (net.out[node].empty()) {
      net.nodes[node].unknown = on == BlockedOn::kSomebody || on == BlockedOn::kClock
                                    ? Unknown::kAnybody
                                : on == BlockedOn::kOwnProcess ? Unknown::kInside
                                                               : Unknown::kNobody;
      // A message of any process may bring what a coroutine waits for.
      if (is_of_coroutine(graph.nodes[node])) {
        net.nodes[node].unknown = Unknown::kAnybody;
      }
    }
  }
}

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

// Returns the longest time that a rank has waited in a call.
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

// Returns the ranks (indices) that are held up by something that has long slept for short times
// again and again: it asks for something in between, perhaps in a way that is not recognised. Keeps
// the order.
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

Circle circle_from(const WaitGraph& graph, const Solution& solution, CauseId id) {
  const Cause& cause = solution.causes[id];
  Circle circle;
  circle.certain = cause.certain;
  circle.ranks = ranks_of_cause(graph, cause);
  circle.nodes.assign(cause.nodes.begin(), cause.nodes.end());
  circle.closed = true;
  for (const std::uint32_t node : cause.nodes) {
    circle.closed = circle.closed && solution.sets.of(solution.may[node]).size() == 1;
    if (graph.nodes[node].kind == NodeKind::kSlot) {
      circle.slots.push_back(&graph.slots[graph.nodes[node].index]);
    }
  }
  std::ranges::sort(circle.slots);
  return circle;
}

// Counts, by rank, the other ranks that need it; and marks Blame::one_of_several.
void count_waiters(const WaitGraph& graph, Blame& blame) {
  const Solution& solution = blame.solution;
  const std::size_t ranks = blame.blocked.size();
  std::vector<std::size_t> sure(solution.sets.size(), 0);
  std::vector<bool> unclear(solution.sets.size(), false);
  for (std::size_t at = 0; at < ranks; ++at) {
    if (!graph.net.out[at].empty()) {
      ++sure[solution.sure[at]];
      unclear[solution.may[at]] = unclear[solution.may[at]] || solution.unclear[at];
    }
  }
  blame.needed.assign(solution.causes.size(), 0);
  std::vector<bool> doubtful(solution.causes.size(), false);
  for (CauseSetId set = 0; set < solution.sets.size(); ++set) {
    for (const CauseId cause : solution.sets.of(set)) {
      blame.needed[cause] += sure[set];
      doubtful[cause] = doubtful[cause] || unclear[set];
    }
  }
  blame.waiters.assign(ranks, 0);
  blame.one_of_several.assign(ranks, false);
  for (CauseId id = 0; id < solution.causes.size(); ++id) {
    const std::vector<std::size_t> owners = ranks_of_cause(graph, solution.causes[id]);
    for (const std::size_t owner : owners) {
      const bool own = !graph.net.out[owner].empty() && solution.is_sure(owner, id);
      blame.waiters[owner] = std::max(blame.waiters[owner], blame.needed[id] - (own ? 1 : 0));
      blame.one_of_several[owner] = blame.one_of_several[owner] || doubtful[id];
    }
  }
}

}  // namespace

bool Circle::has_speaker(std::size_t rank) const {
  return std::ranges::binary_search(nodes, rank);
}

bool is_held(const RuleInput& input, const RankView& rank) {
  return rank.presence == Presence::kDead || rank.presence == Presence::kAbsent ||
         is_held_still(input.view, rank) || rank.state() == 'D' || rank.crashed();
}

BlockedOn blocked_on(const RuleInput& input, std::size_t at) {
  const RankView& rank = input.rank(at);
  if (is_held(input, rank)) {
    return BlockedOn::kNoRank;
  }
  if (is_partial(rank)) {
    return BlockedOn::kUnknown;
  }
  if (input.graph.waits[at]) {
    return BlockedOn::kRanks;
  }
  if (input.graph.in_call[at] || awaits_unknown(input.view, rank)) {
    return BlockedOn::kCall;
  }
  if (rank.polls == PollOn::kWork) {  // of a request, or for a message
    return input.graph.awaited[at] ? BlockedOn::kSomebody : BlockedOn::kCall;
  }
  // If the loop only runs for a moment, whatever wakes it, it does no work.
  if (!input.graph.awaited[at] && rank.decider != nullptr &&
      waits_to_serve(input.view.model(), *rank.decider)) {
    return BlockedOn::kSomebody;
  }
  const bool needs_others = is_open(input.view, rank) || may_need_others(input, rank);
  const BlockedOn vague = needs_others && !input.graph.lacks_own_key[at] ? BlockedOn::kSomebody
                                                                         : BlockedOn::kOwnProcess;
  const RankView& end = input.end(at).view();
  switch (local_story(input, at)) {
    case Kind::kUnknown:
      // In a library that could not be read: it waits, or it talks to others that do.
      return is_in_unread_call(input, rank) ? BlockedOn::kCall : BlockedOn::kUnknown;
    case Kind::kDeviceStall:
      return has_ended_all_calls(input.view, rank) ? BlockedOn::kNoRank : vague;
    case Kind::kExternalWait:
      return is_answered_outside(input.view, end) ? BlockedOn::kNoRank : vague;
    case Kind::kFileLock:
      return lacks_holder(*end.decider) ? vague : BlockedOn::kNoRank;
    case Kind::kIoStall:
      return lacks_reader(input.view, end) ? vague : BlockedOn::kNoRank;
    case Kind::kSkippedCollective:
    case Kind::kBusyRank:
      return waits_for_somebody(input, rank) ? vague : BlockedOn::kNoRank;
    default:
      return BlockedOn::kNoRank;
  }
}

std::vector<std::size_t> ranks_of_cause(const WaitGraph& graph, const Cause& cause) {
  std::set<std::size_t> ranks;
  for (const std::uint32_t node : cause.nodes) {
    const std::size_t owner = graph.net.nodes[node].owner;
    if (owner < graph.awaited.size()) {
      ranks.insert(owner);
    }
  }
  return {ranks.begin(), ranks.end()};
}

Blame find_blame(const RuleInput& input, WaitGraph& graph) {
  Blame blame;
  const std::size_t ranks = input.view.ranks().size();
  blame.blocked.reserve(ranks);
  for (std::size_t at = 0; at < ranks; ++at) {
    blame.blocked.push_back(blocked_on(input, at));
  }
  const std::vector<std::size_t> roots = input.view.ranks_that(
      [&](std::size_t at) { return blame.blocked[at] == BlockedOn::kNoRank && graph.awaited[at]; });
  for (const std::size_t at : short_sleepers_among(input, roots)) {
    blame.blocked[at] = BlockedOn::kClock;
  }
  mark(input, blame.blocked, graph);
  blame.solution = solve(graph.net);
  for (CauseId id = 0; id < blame.solution.causes.size(); ++id) {
    if (blame.solution.causes[id].circle) {
      Circle circle = circle_from(graph, blame.solution, id);
      if (circle.ranks.size() > 1) {
        blame.circles.push_back(std::move(circle));
      }
    }
  }
  count_waiters(graph, blame);
  const std::vector<std::size_t> from_old =
      distances(graph.out, input.view.ranks_that([&input](std::size_t at) {
        const ThreadCapture* decider = input.rank(at).decider;
        return decider != nullptr && decider->wait.quiet_ms >= snapshot::kOldWaitMs;
      }));
  for (std::size_t at = ranks; at < graph.nodes.size(); ++at) {
    if (!is_apart(graph.nodes[at], from_old[at] != kFar) || !graph.net.out[at].empty()) {
      continue;
    }
    const std::size_t owner = graph.net.nodes[at].owner;
    if (owner < ranks && blame.blocked[owner] == BlockedOn::kRanks) {
      blame.by_part.emplace(owner, at);
    }
  }
  return blame;
}

std::vector<const Slot*> closed_slots(const RuleInput& input) {
  std::vector<const Slot*> slots;
  for (const Circle& circle : input.blame.circles) {
    if (circle.closed && circle.certain) {
      slots.insert(slots.end(), circle.slots.begin(), circle.slots.end());
    }
  }
  std::ranges::sort(slots);
  return slots;
}

std::vector<std::size_t> cuts_of(const WaitGraph& graph, const Circle& circle) {
  return cuts_of(graph.net.out, circle.nodes, circle.ranks);
}

}  // namespace oddrank::aggregate
