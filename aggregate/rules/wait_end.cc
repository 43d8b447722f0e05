#include "aggregate/rules/wait_end.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/view/leader.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::WaitAbout;

namespace {

constexpr std::size_t kMaxEndHops = 8;  // also ends a circle of processes

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

std::string thread_words(const JobView& view, const ThreadCapture& thread) {
  const std::string_view name = view.text(thread.python_name);
  return name.empty() ? fmt::format("thread {}", thread.tid)
                      : fmt::format("thread {} ({})", thread.tid, printable(name, 40));
}

}  // namespace

WaitEnd::WaitEnd(const JobView& view, const RankView& rank) : view_(view), rank_(rank) {
  if (rank.process == nullptr || rank.sample() == nullptr || rank.leader->call ||
      rank.state() == 'D' || rank.stays_stopped() || waits_for_input(view, rank)) {
    return;
  }
  const ProcessCapture* process = rank.process;
  const ThreadCapture* thread = rank.leader;
  while (hops_.size() < kMaxEndHops &&
         (follow_thread(*process, *thread) || follow_process(*process, *thread))) {
    process = hops_.back().process;
    thread = hops_.back().thread;
  }
  if (!hops_.empty()) {
    set_end(hops_.back());
  }
}

bool WaitEnd::follow_thread(const ProcessCapture& process, const ThreadCapture& thread) {
  const ThreadChain chain = follow_threads(process, thread);
  if (!chain.circle.empty() || chain.way.size() < 2 || has_gil(chain.way)) {
    return false;
  }
  const ThreadCapture* last = chain.way.back();
  if (last->call || last->samples.empty()) {
    return false;
  }
  inferred_ = inferred_ || is_inferred(ThreadList(chain.way.begin(), chain.way.end() - 1));
  hops_.push_back({&process, last, &process, &thread, 0});
  return true;
}

bool WaitEnd::follow_process(const ProcessCapture& process, const ThreadCapture& thread) {
  if (thread.wait.holder_pid == 0) {
    return follow_pool(process, thread) || follow_files(process, thread);
  }
  const ProcessCapture* next = view_.process(process.node, thread.wait.holder_pid);
  if (next == nullptr || next == &process || !is_of_rank(rank_, *next)) {
    return false;
  }
  const ThreadCapture* theirs = thread_of_child(view_, *next);
  const bool seen = std::any_of(hops_.begin(), hops_.end(), [next](const Hop& hop) {
    return hop.process == next || hop.from == next;
  });
  if (theirs == nullptr || seen) {
    return false;
  }
  hops_.push_back({next, theirs, &process, &thread, 0});
  return true;
}

bool WaitEnd::follow_pool(const ProcessCapture& process, const ThreadCapture& thread) {
  const snapshot::PoolWait& pool = thread.wait.rare->pool;
  if (thread.wait.rare->about != WaitAbout::kPool) {
    return false;
  }
  return follow_any({pool.pids.begin(), pool.pids.end()}, pool.meant - 1, process, thread);
}

bool WaitEnd::follow_files(const ProcessCapture& process, const ThreadCapture& thread) {
  const snapshot::RareWaitFacts& rare = *thread.wait.rare;
  if (thread.wait.how != snapshot::WaitHow::kFiles || rare.awaited_count != rare.awaited.size()) {
    return false;
  }
  std::vector<pid_t> pids;
  for (const snapshot::AwaitedFile& file : rare.awaited) {
    pids.push_back(file.holder_pid);  // 0, which is nobody's, if it is not known
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return follow_any(pids, pids.empty() ? 0 : pids.size() - 1, process, thread);
}

bool WaitEnd::follow_any(const std::vector<pid_t>& pids,
                         std::size_t alike,
                         const ProcessCapture& process,
                         const ThreadCapture& thread) {
  if (pids.empty()) {
    return false;
  }
  Hop hop{nullptr, nullptr, &process, &thread, alike};
  for (const pid_t pid : pids) {
    const ProcessCapture* worker = view_.process(process.node, pid);
    const ThreadCapture* theirs = worker == nullptr || !is_of_rank(rank_, *worker)
                                      ? nullptr
                                      : thread_of_child(view_, *worker);
    if (theirs == nullptr || (hop.thread != nullptr && !same_call(*hop.thread, *theirs))) {
      return false;
    }
    if (hop.thread == nullptr) {
      hop.process = worker;
      hop.thread = theirs;
    }
  }
  hops_.push_back(hop);
  return true;
}

void WaitEnd::set_end(const Hop& hop) {
  end_.rank = rank_.rank;
  end_.host = rank_.host;
  end_.presence = rank_.presence;
  end_.process = hop.process;
  end_.leader = hop.thread;
  end_.motion = measure_motion(*hop.thread, view_.model());
  if (const auto poll = poll_of(view_, *hop.thread)) {
    end_.polls = poll->on;
  }
}

std::string WaitEnd::hop_words(const Hop& hop) const {
  return hop.from == hop.process ? thread_words(view_, *hop.thread)
                                 : child_words(view_, *hop.process);
}

std::string WaitEnd::way_words() const {
  std::string text;
  for (const Hop& hop : hops_) {
    if (hop.from == hop.process) {
      text += fmt::format("waits for its {}, which ", hop_words(hop));
      continue;
    }
    const std::string name = hop_words(hop);
    text +=
        hop.alike == 0
            ? fmt::format("waits for its {} pid {}{}, which ", name, hop.process->pid,
                          command_words(view_, *hop.process))
            : fmt::format("waits for {} {}{} of its own, all in the same call: pid {} ",
                          hop.alike + 1, name, name.ends_with('s') ? "es" : "s", hop.process->pid);
  }
  return text;
}

std::vector<ChainLink> WaitEnd::thread_links() const {
  std::vector<ChainLink> links;
  for (const Hop& hop : hops_) {
    if (hop.from == hop.process) {
      const std::string waiter = hop.from == rank_.process && rank_.rank >= 0
                                     ? std::to_string(rank_.rank)
                                     : fmt::format("pid {}", hop.from->pid);
      links.push_back({waiter, thread_words(view_, *hop.thread),
                       std::string(wait_name(hop.waiter->wait.on)),
                       printable(wait_detail(view_, *hop.process, *hop.waiter), 200)});
      const std::string call = system_call_words(view_, *hop.thread, false);
      if (!call.empty()) {
        const std::string path = printable(view_.text(hop.thread->wait.path));
        links.push_back({thread_words(view_, *hop.thread), path.empty() ? "the kernel" : path,
                         printable(view_.text(hop.thread->wait.syscall_name), 40) + "()",
                         printable(wait_detail(view_, *hop.process, *hop.thread), 200)});
      }
    }
  }
  return links;
}

}  // namespace oddrank::aggregate
