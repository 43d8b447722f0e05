#include "aggregate/evidence/wait_end.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/view/coroutines.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

namespace {

constexpr std::size_t kMaxEndHops = 8;

// Returns whether the process is the rank's own, and was read.
bool is_of_rank(const RankView& rank, const ProcessCapture& process) {
  return !process.is_rank && !is_dead(process) && process.owner == rank.process->pid &&
         process.node == rank.process->node && !process.threads.empty();
}

// Returns the thread that decides for a child, if the child stands for itself: not in a collective.
const ThreadCapture* thread_of_child(const JobView& view, const ProcessCapture& child) {
  const ThreadCapture* thread = deciding_thread(view, child);
  return thread == nullptr || thread->call || thread->samples.empty() ? nullptr : thread;
}

bool same_call(const ThreadCapture& a, const ThreadCapture& b) {
  return a.wait.on == b.wait.on && a.wait.syscall == b.wait.syscall &&
         a.samples.back().state == b.samples.back().state;
}

}  // namespace

RankView view_of(const JobView& view,
                 const RankView& rank,
                 const ProcessCapture& process,
                 const ThreadCapture& thread) {
  RankView end;
  end.rank = rank.rank;
  end.host = rank.host;
  end.presence = rank.presence;
  end.process = &process;
  end.decider = &thread;
  end.motion = measure_motion(thread, view.model());
  if (const auto poll = poll_of(view, thread)) {
    end.polls = poll->on;
  }
  return end;
}

WaitEnd::WaitEnd(const JobView& view, const RankView& rank) : view_(view), rank_(rank) {
  if (rank.process == nullptr || rank.sample() == nullptr || rank.decider->call ||
      rank.state() == 'D' || rank.stays_stopped() || waits_for_input(view, rank)) {
    return;
  }
  const auto next_of = [this](const Hop& at) { return next(at); };
  way_ = follow(Hop{rank.process, rank.decider}, next_of, kMaxEndHops + 1).all();
  if (!is_own()) {
    end_ = view_of(view_, rank_, *way_.back().process, *way_.back().thread);
  }
}

bool WaitEnd::is_guessed() const {
  return std::ranges::any_of(way_, &Hop::guessed);
}

WaitEnd::Hop WaitEnd::next(const Hop& at) const {
  const Holders holders = holders_of(view_, *at.process, *at.thread);
  if (holders.who.empty()) {
    return {};
  }
  return holders.who.front().thread != nullptr ? next_thread(at, holders) : next_process(holders);
}

// Takes the last thread of a chain, unless it is a circle; or the only thread that may end the
// wait. A thread that waits for the GIL only waits for its turn.
WaitEnd::Hop WaitEnd::next_thread(const Hop& at, const Holders& holders) const {
  ThreadChain chain = follow_threads(*at.process, *at.thread);
  const bool only = chain.way.size() == 1 && holders.who.size() == 1;
  const bool excluded = only && holders.how == HowKnown::kExclusion;
  if (excluded || (only && is_coroutine(*holders.who.front().thread))) {
    chain.way.push_back(holders.who.front().thread);
  }
  const ThreadCapture* last = chain.end();
  if (last == nullptr || last == at.thread || has_gil(chain.way) || last->call ||
      last->samples.empty()) {
    return {};
  }
  chain.way.pop_back();
  return {at.process, last, true, excluded || is_inferred(chain.way)};
}

WaitEnd::Hop WaitEnd::next_process(const Holders& holders) const {
  Hop hop;
  hop.alike = holders.alike + holders.who.size() - 1;
  for (const Holder& holder : holders.who) {
    const ThreadCapture* theirs =
        is_of_rank(rank_, *holder.process) ? thread_of_child(view_, *holder.process) : nullptr;
    if (holders.others || theirs == nullptr ||
        (hop.thread != nullptr && !same_call(*hop.thread, *theirs))) {
      return {};
    }
    if (hop.thread == nullptr) {
      hop.process = holder.process;
      hop.thread = theirs;
    }
  }
  return hop;
}

std::string WaitEnd::hop_words(const Hop& hop) const {
  if (is_coroutine(*hop.thread)) {
    return "coroutine" + view_.model().user_place(&hop.thread->samples.back(), " ");
  }
  return hop.within ? thread_words(view_, *hop.thread) : child_words(view_, *hop.process);
}

namespace {

// Returns "reads from a pipe (fd 5) whose other end is in"; "waits for" if it waits otherwise. The
// process with the other end may not use it, but only have inherited it.
std::string hop_verb(const JobView& view, const ThreadCapture& waiter) {
  const snapshot::Wait& wait = waiter.wait;
  const bool pipe = wait.on == snapshot::WaitOn::kPipe;
  if ((!pipe && wait.on != snapshot::WaitOn::kSocket) || wait.how == snapshot::WaitHow::kFiles) {
    return "waits for";
  }
  return fmt::format(
      "{} a {}{} whose other end is in", is_writing(view, wait) ? "writes to" : "reads from",
      pipe ? "pipe" : "connection", wait.fd < 0 ? std::string() : fmt::format(" (fd {})", wait.fd));
}

// Returns whether a process has the other end of a pipe that it got from one that has ended: it is
// below no living process of the rank. (What a shell runs beside the rank has the rank's parent.)
bool has_inherited_pipe(const JobView& view,
                        const ProcessCapture& rank,
                        const ThreadCapture& waiter,
                        const ProcessCapture& holder) {
  return waiter.wait.on == snapshot::WaitOn::kPipe && !holder.is_rank &&
         holder.parent != rank.parent && view.process(holder.node, holder.parent) == nullptr;
}

}  // namespace

std::string WaitEnd::way_words() const {
  std::string text;
  for (std::size_t i = 1; i < way_.size(); ++i) {
    const Hop& hop = way_[i];
    const Hop& from = way_[i - 1];
    const std::string name = hop_words(hop);
    if (hop.within) {
      text += fmt::format("waits for its {}, which ", name);
      continue;
    }
    if (has_inherited_pipe(view_, *rank_.process, *from.thread, *hop.process)) {
      text += fmt::format(
          "waits for a pipe that is open in pid {}{}, left behind by a process that has ended, "
          "which ",
          hop.process->pid, command_words(view_, *hop.process));
      continue;
    }
    const bool own = from.process == rank_.process || hop.process->parent == from.process->pid;
    text +=
        hop.alike == 0
            ? fmt::format("{} {} {} pid {}{}, which ", hop_verb(view_, *from.thread),
                          own ? "its" : "the rank's", name, hop.process->pid,
                          command_words(view_, *hop.process))
            : fmt::format("waits for {} {}{} of its own, all in the same call: pid {} ",
                          hop.alike + 1, name, name.ends_with('s') ? "es" : "s", hop.process->pid);
  }
  return text;
}

}  // namespace oddrank::aggregate
