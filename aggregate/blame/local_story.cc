#include "aggregate/blame/local_story.h"

#include <algorithm>
#include <array>
#include <utility>

#include "aggregate/evidence/server_waits.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/view/coroutines.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {

using snapshot::Known;
using snapshot::PollOn;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::WaitOn;

namespace {

// Recognises an idle thread of multiprocessing's queues: it waits for the other threads.
bool is_idle_feeder(const RuleInput& input, const ThreadCapture& thread) {
  return (thread.wait.on == WaitOn::kLock || thread.wait.on == WaitOn::kSocket) &&
         input.view.model().story(last_sample(thread), Story::kQueueFeeder).has_value();
}

// Returns whether no other thread of the child could release anything.
bool is_alone(const RuleInput& input, const ProcessCapture& child, const ThreadCapture& thread) {
  return std::ranges::all_of(child.threads, [&](const ThreadCapture& each) {
    return &each == &thread || is_idle_feeder(input, each);
  });
}

// Returns whether the thread waits for its next work at a queue.
bool is_idle_worker(const JobView& view, const ThreadCapture& thread) {
  return view.model().story(last_sample(thread), Story::kQueueIdle).has_value();
}

// Recognises a lock that a forked child inherited, whose owner was a thread that the child does not
// have. The signs: the only thread that could do anything waits for a lock without a living owner,
// in a process whose parent has threads, and not in the queue where idle workers wait for work.
bool waits_for_inherited_lock(const RuleInput& input,
                              const ProcessCapture& child,
                              const ProcessCapture& parent) {
  const ThreadCapture* thread = deciding_thread(input.view, child);
  if (thread == nullptr || thread->samples.empty() || thread->wait.on != WaitOn::kLock ||
      is_shared_lock(thread->wait)) {
    return false;
  }
  if (thread->wait.holder_alive == Known::kNo || !follow_threads(child, *thread).circle.empty()) {
    return true;
  }
  return thread->wait.holder_alive == Known::kUnknown && thread->wait.holder_tid == 0 &&
         is_alone(input, child, *thread) && parent.threads.size() > 1 &&
         !is_idle_worker(input.view, *thread);
}

// Returns whether only threads that wait for the child could write to it.
bool only_waits(const RankView& rank) {
  const auto& threads = rank.process->threads;
  return std::ranges::none_of(threads, [&rank](const ThreadCapture& other) {
    const ThreadChain chain = follow_threads(*rank.process, other);
    const bool waits = !chain.way.empty() && chain.way.back() == rank.decider;
    return other.has_python && &other != rank.decider && !waits;
  });
}

// Returns whether the wait is for a lock that its holder, a thread of the rank, cannot release: it
// is the deciding thread, or waits for a lock of the rank itself.
bool is_for_lock_of(const RankView& rank, const snapshot::Wait& wait) {
  const auto& threads = rank.process->threads;
  return wait.on == WaitOn::kLock && wait.lock.owner == snapshot::LockOwner::kAcquired &&
         std::ranges::any_of(threads, [&](const ThreadCapture& thread) {
           return thread.tid == wait.holder_tid &&
                  (&thread == rank.decider || is_at_own_lock(thread));
         });
}

// Returns the process where the rank's wait ends, if that process waits for a lock of the rank, or
// in a pipe until the rank reads its output or sends or ends its input; else null.
const ProcessCapture* waits_back(const RuleInput& input, const RankView& rank) {
  const RankView& last = input.end(rank).view();
  if (last.process == nullptr || last.process == rank.process || last.decider == nullptr ||
      last.decider->wait.holder_pid != rank.process->pid) {
    return nullptr;
  }
  if (last.decider->wait.on != WaitOn::kPipe) {
    return is_for_lock_of(rank, last.decider->wait) ? last.process : nullptr;
  }
  return is_writing(input.view, last.decider->wait) || only_waits(rank) ? last.process : nullptr;
}

// Returns whether a child stands still while its parent is in vfork(): the parent goes on only when
// the child has called exec or has exited.
bool holds_up_vfork(const RuleInput& input, const ProcessCapture& child, const RankView& rank) {
  const snapshot::Wait& wait = rank.decider->wait;
  const std::string_view call = input.view.text(wait.syscall_name);
  const ThreadCapture* thread = deciding_thread(input.view, child);
  if (rank.state() != 'D' || wait.on != WaitOn::kChild || thread == nullptr ||
      (call != "vfork" && call.substr(0, 5) != "clone")) {
    return false;
  }
  const Motion motion = measure_motion(*thread, input.view.model());
  return motion.still() || !motion.measured;
}

// Returns the circle of processes of a rank that the child's wait leads to; empty if there is none.
std::vector<const ProcessCapture*> circle_of_children(const JobView& view,
                                                      const ProcessCapture& child) {
  const auto next = [&](const ProcessCapture* at) {
    const ProcessCapture* awaited = awaited_process(view, *at);
    const bool own = awaited != nullptr && awaited->owner == child.owner && !awaited->is_rank;
    return own ? awaited : nullptr;
  };
  return follow(&child, next).circle;
}

// Returns the chain of threads that the rank's deciding thread waits for.
ThreadChain thread_chain_of(const RankView& rank) {
  return rank.process == nullptr || rank.decider == nullptr
             ? ThreadChain()
             : follow_threads(*rank.process, *rank.decider);
}

// Returns whether the rank may wait for one that was not read: no known process has the other end,
// and not every rank was read.
bool may_wait_for_unread(const RuleInput& input, const RankView& rank) {
  return input.unread && rank.decider != nullptr && !rank.decider->call &&
         (rank.decider->wait.on == WaitOn::kSocket || rank.decider->wait.on == WaitOn::kPipe) &&
         awaited_process(input.view, *rank.process) == nullptr;
}

constexpr std::size_t kStories = static_cast<std::size_t>(
    std::ranges::count_if(kKinds, [](const KindRow& row) { return row.story.place > 0; }));

// Returns the rows that have a story, ordered by its place; null for a place that no row or two
// rows have.
constexpr std::array<const KindRow*, kStories> rows_by_place() {
  std::array<const KindRow*, kStories> rows = {};
  for (const KindRow& row : kKinds) {
    if (row.story.place > 0 && row.story.place <= static_cast<int>(kStories)) {
      rows[static_cast<std::size_t>(row.story.place) - 1] = &row;
    }
  }
  return rows;
}

constexpr auto kRowsByPlace = rows_by_place();
static_assert(std::ranges::count(kRowsByPlace, nullptr) == 0,
              "places of stories are 1, 2, ..., each used once");

}  // namespace

bool is_crashed(const RuleInput& /*input*/, const RankView& rank) {
  return rank.crashed();
}

bool is_stopped(const RuleInput& input, const RankView& rank) {
  return is_held_still(input.view, rank);
}

bool is_in_lock_circle(const RuleInput& input, const RankView& rank) {
  const ThreadList circle = thread_chain_of(rank).circle;
  return circle.empty() ? !waiting_tasks(input.view.model(), rank).tasks.empty() : !has_gil(circle);
}

bool is_in_gil_circle(const RuleInput& input, const RankView& rank) {
  const ThreadChain chain = thread_chain_of(rank);
  return has_gil(chain.circle) ||
         (rank.sample() != nullptr && !rank.decider->call &&
          waiting_gil_owner(*rank.process, chain, input.view.model()) != nullptr);
}

bool is_failed(const RuleInput& input, const RankView& rank) {
  return rank.sample() != nullptr && !rank.decider->call &&
         (rank.process->ending == snapshot::Ending::kAfterException ||
          input.view.model().story(*rank.sample(), Story::kFailed).has_value());
}

bool is_ending(const RuleInput& input, const RankView& rank) {
  return rank.sample() != nullptr && !rank.decider->call &&
         (rank.process->ending != snapshot::Ending::kNone ||
          input.view.model().story(*rank.sample(), Story::kEnds).has_value());
}

bool has_doomed_child(const RuleInput& input, const RankView& rank) {
  return doomed_child(input, rank).why != Doom::kNone;
}

bool is_in_io(const RuleInput& input, const RankView& rank) {
  return rank.state() == 'D' || waits_for_reader(input.view, rank) ||
         (rank.decider != nullptr && rank.decider->wait.on == WaitOn::kFile && rank.state() != 'R');
}

bool is_in_input(const RuleInput& input, const RankView& rank) {
  return waits_for_input(input.view, rank);
}

bool is_in_file_lock(const RuleInput& input, const RankView& rank) {
  (void)input;
  return rank.decider != nullptr && rank.decider->wait.on == WaitOn::kFileLock;
}

bool is_in_device(const RuleInput& input, const RankView& rank) {
  return rank.decider != nullptr && rank.decider->wait.on == WaitOn::kDevice &&
         !waits_at_terminal(input.view, rank);
}

bool is_outside(const RuleInput& input, const RankView& rank) {
  if (waits_at_terminal(input.view, rank) || rank.lacks_resources()) {
    return true;
  }
  if (rank.sample() == nullptr || rank.decider->wait.on != WaitOn::kSocket ||
      rank.decider->wait.holder_pid == rank.process->pid ||
      input.view.awaited_by(*rank.process, *rank.decider) != nullptr) {
    return false;
  }
  // The other end of a connection may be a rank that was not read.
  const snapshot::Wait& wait = rank.decider->wait;
  const bool known_peer =
      !input.view.text(wait.rare->peer).empty() && !input.unread && !input.view.has_other_end(wait);
  return known_peer || talks_to_service(input.view, rank);
}

// Returns whether its frames belong to a communication library, and its call there could not be
// read: it may be the call that the others wait in. A rank in a callback (a hook of DDP) is not in
// the library.
bool is_in_unread_call(const RuleInput& input, const RankView& rank) {
  return rank.sample() != nullptr && !rank.decider->call && !waits_for_key(input.view, rank) &&
         input.view.model().innermost_story(*rank.sample(), Story::kCommunicates).has_value();
}

bool is_at_loop(const RuleInput& input, const RankView& rank) {
  return work_of(input.view, rank).has_value();
}

bool is_busy(const RuleInput& input, const RankView& rank) {
  // A rank without a stack may run in the very call that the others wait in: MPI waits by running.
  if (rank.sample() == nullptr || rank.decider->call || rank.polls ||
      (rank.process->is_rank && !input.view.model().has_stack(rank.sample()))) {
    return false;
  }
  const bool runs = rank.decider->wait.on == WaitOn::kNothing || rank.state() == 'R';
  return rank.motion.measured ? rank.motion.cpu && (runs || rank.motion.stack) : runs;
}

bool waits_for_key(const JobView& view, const RankView& rank) {
  return rank.sample() != nullptr && !rank.decider->call &&
         view.model().story(*rank.sample(), Story::kStore).has_value();
}

bool may_need_others(const RuleInput& input, const RankView& rank) {
  const JobView& view = input.view;
  if (rank.speaks_by_coroutine()) {
    return !rank.coroutine->way.circle;
  }
  if (waits_for_key(view, rank)) {
    return true;
  }
  const RankView& last = input.end(rank).view();
  if (last.decider == nullptr) {
    return false;
  }
  if (last.polls) {
    return last.polls == PollOn::kKey || last.polls == PollOn::kFile ||
           last.polls == PollOn::kLockFile || last.polls == PollOn::kDatabase ||
           last.polls == PollOn::kUnknown || last.polls == PollOn::kConnection;
  }
  if (keeps_resting(*last.decider, view.model())) {
    return true;
  }
  const snapshot::Wait& wait = last.decider->wait;
  return is_shared_lock(wait) || wait.on == WaitOn::kSocket || wait.on == WaitOn::kFileLock ||
         is_to_be_woken(view, last) ||
         (wait.on == WaitOn::kPipe && !has_end_outside(view, last) && !is_at_own_end(last));
}

bool is_to_be_woken(const JobView& view, const RankView& rank) {
  const snapshot::Wait& wait = rank.decider->wait;
  return wait.on == WaitOn::kUnknown && rank.state() == 'S' &&
         (wait.how == snapshot::WaitHow::kFiles || has_waker(view, wait));
}

bool waits_for_launchers(const JobView& view, const RankView& rank) {
  return rank.rank < 0 && view.model().story(rank.sample(), Story::kMeetsLaunchers).has_value();
}

bool talks_to_service(const JobView& view, const RankView& rank) {
  return view.model().story(rank.sample(), Story::kExternal).has_value();
}

bool waits_at_terminal(const JobView& view, const RankView& rank) {
  if (rank.decider == nullptr || rank.decider->wait.on != WaitOn::kDevice) {
    return false;
  }
  const std::string_view path = view.text(rank.decider->wait.path);
  return path.starts_with("/dev/pts/") || path.starts_with("/dev/tty") || path == "/dev/console";
}

bool opens_named_pipe(const JobView& view, const RankView& rank) {
  return rank.decider != nullptr && view.text(rank.decider->wait.wchan) == "wait_for_partner";
}

bool waits_for_reader(const JobView& view, const RankView& rank) {
  return rank.process != nullptr && rank.decider != nullptr && rank.state() != 'R' &&
         (rank.decider->wait.on == WaitOn::kPipe || is_at_own_end(rank)) &&
         is_writing(view, rank.decider->wait) && awaited_process(view, *rank.process) == nullptr;
}

bool is_at_own_end(const RankView& rank) {
  const snapshot::Wait& wait = rank.decider->wait;
  const auto& awaited = wait.rare->awaited;
  return wait.on == WaitOn::kSocket
             ? wait.holder_pid == rank.process->pid
             : wait.on == WaitOn::kPipe && awaited.size() == 1 && wait.holder_pid == 0 &&
                   awaited.front().holder_pid == rank.process->pid;
}

bool has_end_outside(const JobView& view, const RankView& rank) {
  return rank.process != nullptr && rank.decider != nullptr &&
         rank.decider->wait.on == WaitOn::kPipe && rank.decider->wait.holder_pid != 0 &&
         awaited_process(view, *rank.process) == nullptr && view.all_read();
}

bool is_held_still(const JobView& view, const RankView& rank) {
  return rank.stays_stopped() || is_frozen(view, rank);
}

std::optional<RankWork> work_of(const JobView& view, const RankView& rank) {
  const ProcessCapture* worker = rank.process != nullptr && waits_for_input(view, rank)
                                     ? awaited_process(view, *rank.process)
                                     : nullptr;
  const ThreadCapture* thread = worker == nullptr ? rank.decider : deciding_thread(view, *worker);
  auto loop = thread == nullptr
                  ? std::nullopt
                  : loop_work(view, worker == nullptr ? *rank.process : *worker, *thread);
  if (!loop && thread != nullptr && worker == nullptr) {
    loop = work_of_children(view, rank);
    loop = loop ? loop : work_after_sleep(view, rank);
  }
  return loop ? std::optional(RankWork{*std::move(loop), worker}) : std::nullopt;
}

namespace {

// Returns whether the process has ended and was not reaped. (One that disappeared while it was read
// was.)
bool is_zombie(const ProcessCapture& process) {
  return process.state == 'Z';
}

// Returns a dead child that should have delivered what the rank waits for, or that was killed and
// may have had its lock: such a lock tells no owner. `own`: the rank waits for a child of its own.
// `reaps`: it waits for a child to end. Children that live may have the other end of the pipe, too.
DoomedChild dead_child(const RuleInput& input, const RankView& rank, bool own, bool reaps) {
  const snapshot::Wait& wait = rank.decider->wait;
  const bool of_pool = wait.rare->about == snapshot::WaitAbout::kPool;
  const bool ends_matter =
      waits_for_input(input.view, rank) || (wait.on == WaitOn::kChild && !reaps && !of_pool);
  const bool reads = wait.on == WaitOn::kPipe && (wait.holder_pid == 0 || own) &&
                     !is_writing(input.view, wait) && !is_at_own_end(rank);
  const Doom why = is_shared_lock(wait) ? Doom::kSharedLock
                   : wait.on == WaitOn::kLock && wait.lock.owner == snapshot::LockOwner::kNobodyElse
                       ? Doom::kLostLock
                   : ends_matter || reads || of_pool ? Doom::kDead
                                                     : Doom::kNone;
  const auto dead = std::ranges::find_if(rank.children, [&](const ProcessCapture* process) {
    return is_zombie(*process) && (ends_matter || process->exit_code != 0);
  });
  if (why != Doom::kNone && dead != rank.children.end()) {
    return {why, *dead, {}};
  }
  const bool lost_worker = of_pool && wait.holder_pid == 0 && wait.holder_alive == Known::kNo;
  return {lost_worker ? Doom::kLostWorker : Doom::kNone, nullptr, {}};
}

}  // namespace

DoomedChild doomed_child(const RuleInput& input, const RankView& rank) {
  if (rank.process == nullptr || rank.decider == nullptr || rank.decider->call) {
    return {};
  }
  // If the rank reaps its children, a dead one has only just ended.
  const bool reaps = reaps_child(*rank.decider, input.view.model());
  if (const ProcessCapture* process = waits_back(input, rank)) {
    return {Doom::kWaitsBack, process, {}};
  }
  const ProcessCapture* child = awaited_process(input.view, *rank.process);
  const bool own = child != nullptr && child->owner == rank.process->pid && !child->is_rank;
  if (own) {
    auto circle = circle_of_children(input.view, *child);
    const Doom why = !circle.empty()                                          ? Doom::kCircle
                     : is_zombie(*child) && !reaps                            ? Doom::kDead
                     : holds_up_vfork(input, *child, rank)                    ? Doom::kVfork
                     : waits_for_inherited_lock(input, *child, *rank.process) ? Doom::kInheritedLock
                                                                              : Doom::kNone;
    const ThreadCapture* thread = deciding_thread(input.view, *child);
    // An idle worker is not the one that has to deliver: look at the others.
    if (why != Doom::kNone || thread == nullptr || !is_idle_worker(input.view, *thread)) {
      return {why, child, std::move(circle)};
    }
  }
  // Whichever of its workers it waits for, none of them will get on.
  const Holders holders = holders_of(input.view, *rank.process, *rank.decider);
  const auto is_doomed = [&](const Holder& holder) {
    return holder.process->owner == rank.process->pid && holder.process != rank.process &&
           waits_for_inherited_lock(input, *holder.process, *rank.process);
  };
  if (!holders.who.empty() && !holders.others && std::ranges::all_of(holders.who, is_doomed)) {
    return {Doom::kInheritedLock, holders.who.front().process, {}};
  }
  return dead_child(input, rank, own, reaps);  // no holder is known
}

Kind local_story(const RuleInput& input, std::size_t at) {
  const RankView& rank = input.rank(at);
  if (rank.presence == Presence::kDead && rank.process != nullptr && rank.process->exit_code == 0) {
    return Kind::kEarlyExit;
  }
  if (rank.presence == Presence::kDead || rank.presence == Presence::kAbsent) {
    return Kind::kMissingRank;
  }
  if (rank.presence == Presence::kUnread) {
    return Kind::kUnknown;
  }
  if (rank.presence == Presence::kRecorded) {
    return Kind::kSkippedCollective;
  }
  const RankView& end = input.end(at).view();
  for (const KindRow* row : kRowsByPlace) {
    if (row->story.applies(input, row->story.at_end ? end : rank) ||
        (row->story.or_own && row->story.applies(input, rank))) {
      return row->kind;
    }
  }
  // A rank without a stack may be in the very call that the others wait in.
  return !input.view.model().has_stack(rank.sample()) || may_wait_for_unread(input, end)
             ? Kind::kUnknown
             : Kind::kSkippedCollective;
}

}  // namespace oddrank::aggregate
