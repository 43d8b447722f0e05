#include "aggregate/evidence/holders.h"

#include <algorithm>
#include <optional>

#include "aggregate/evidence/server_waits.h"
#include "aggregate/view/coroutines.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/view/thread_cycle.h"

namespace oddrank::aggregate {

using snapshot::AwaitedFile;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::Wait;
using snapshot::WaitHow;

namespace {

void add_holder_of(Holders& holders, const ProcessCapture* process, const ThreadCapture* thread) {
  const auto known = std::ranges::any_of(holders.who, [&](const Holder& one) {
    return one.process == process && one.thread == thread;
  });
  if (!known) {
    holders.who.push_back({process, thread});
  }
}

// Returns the process at the other end; null if it is not known.
const ProcessCapture* at_other_end(const JobView& view,
                                   const ProcessCapture& process,
                                   const AwaitedFile& file) {
  if (file.holder_pid != 0) {
    return view.process(process.node, file.holder_pid);
  }
  return view.other_end(file.local, file.peer);
}

// Returns whether the other end has sent something since the waiter last did: then it is the
// waiter's turn to answer. The kernel counts in ticks of some ms: within one, the order is not
// known.
bool has_sent(const AwaitedFile& file) {
  return file.received_ms >= 0 && file.received_ms < file.sent_ms;
}

// Returns whether the converse is known: it has sent something, and the other end has not since.
bool has_to_send(const AwaitedFile& file) {
  return file.sent_ms >= 0 && file.sent_ms < file.received_ms;
}

// Returns whether it is known that some of the other ends have their turn and some have not. If all
// are alike, the other ends may never send anything, or get no answers.
bool tells_turns(const Wait& wait) {
  const auto& awaited = wait.rare->awaited;
  return wait.how == WaitHow::kFiles && std::ranges::any_of(awaited, has_sent) &&
         std::ranges::any_of(awaited, has_to_send);
}

// For select, poll and epoll: any of the other ends, except those that wait for this thread's turn.
Holders of_files(const JobView& view, const ProcessCapture& process, const Wait& wait) {
  Holders holders;
  holders.join = Join::kAny;
  holders.have_sent = true;
  holders.others = wait.rare->awaited_count != wait.rare->awaited.size();
  const bool turns_known = tells_turns(wait);
  for (const AwaitedFile& file : wait.rare->awaited) {
    const ProcessCapture* other = at_other_end(view, process, file);
    if (other == nullptr || other == &process) {
      holders.others = true;
      continue;
    }
    holders.have_sent = holders.have_sent && has_sent(file);
    if (!turns_known || !has_sent(file)) {
      add_holder_of(holders, other, nullptr);
    }
  }
  return holders;
}

// Returns whether the thread may be woken by its own process, and owes something to the server,
// which waits for this thread and not for some others. Then it does not wait for the server.
bool keeps_server_waiting(const JobView& view,
                          const ProcessCapture& process,
                          const Wait& wait,
                          const ProcessCapture& server) {
  const auto& awaited = wait.rare->awaited;
  const bool owes = wait.how == WaitHow::kFiles && wait.inferred &&
                    std::ranges::all_of(awaited, [](const AwaitedFile& file) {
                      return file.peer == snapshot::StringId{} || has_sent(file);
                    });
  return owes && std::ranges::any_of(server.threads, [&](const auto& thread) {
           const auto& files = thread.wait.rare->awaited;
           return tells_turns(thread.wait) &&
                  std::ranges::any_of(files, [&](const AwaitedFile& file) {
                    return has_to_send(file) && at_other_end(view, server, file) == &process;
                  });
         });
}

// Workers of a pool: one of them has the work.
Holders of_pool(const JobView& view, const ProcessCapture& process, const Wait& wait) {
  Holders holders;
  holders.join = Join::kOneOf;
  holders.how = HowKnown::kFrames;
  const snapshot::PoolWait& pool = wait.rare->pool;
  for (const pid_t pid : pool.pids) {
    const ProcessCapture* worker = view.process(process.node, pid);
    if (worker != nullptr) {
      add_holder_of(holders, worker, nullptr);
    }
  }
  holders.alike = pool.meant - std::min<std::size_t>(pool.meant, holders.who.size());
  holders.others = holders.who.size() < pool.pids.size();
  return holders;
}

// Returns whether the other end of the connection or pipe is in the process itself: another of its
// threads sends there.
bool ends_in_own_process(const ProcessCapture& process, const Wait& wait) {
  return (wait.on == snapshot::WaitOn::kSocket || wait.on == snapshot::WaitOn::kPipe) &&
         wait.holder_pid == process.pid;
}

// For a connection to the process itself: returns the threads with its other end. A single-threaded
// server that calls itself waits for itself. nullopt: none is known.
std::optional<Holders> by_keepers(const JobView& view,
                                  const ProcessCapture& process,
                                  const ThreadCapture& thread) {
  Holders holders;
  holders.how = HowKnown::kMemory;
  for (const ThreadCapture* keeper : keepers_of(view, process, thread.wait, process)) {
    add_holder_of(holders, &process, keeper);
  }
  holders.join = holders.who.size() > 1 ? Join::kOneOf : Join::kAll;
  return holders.who.empty() ? std::nullopt : std::optional(holders);
}

// For a lock, an event, a queue or a connection within the process without a known holder: another
// thread of the process must end the wait. If all candidates wait for other processes, so does this
// thread; if there is only one, the thread waits for it, whatever it does.
Holders by_exclusion(const JobView& view,
                     const ProcessCapture& process,
                     const ThreadCapture& thread) {
  Holders holders;
  holders.join = Join::kOneOf;
  holders.how = HowKnown::kExclusion;
  bool clear = true;
  for (const ThreadCapture& other : process.threads) {
    if (&other == &thread || !other.has_python || is_at_own_lock(other) ||
        rests_for_good(view, other) ||
        awaits_connections(view, other.wait)) {  // it hands them over
      continue;
    }
    if (other.samples.empty()) {
      return {};
    }
    const ThreadCapture* next = awaited_thread(process, other);
    if (next != nullptr && next != &thread && next != &other) {
      continue;  // it waits for one of the others
    }
    const ProcessCapture* awaited = view.awaited_by(process, other);
    add_holder_of(holders, &process, &other);
    if (other.call || (awaited != nullptr && awaited != &process)) {
      continue;
    }
    // It may go on at any time, or what it waits for is not known.
    clear = false;
    const auto frame = view.model().user_frame(other.samples.back());
    if (next == &thread || other.wait.on == snapshot::WaitOn::kLock || !frame || !frame->user ||
        view.model().story(other.samples.back(), Story::kIdle)) {
      return {};
    }
  }
  return clear || holders.who.size() == 1 ? holders : Holders();
}

// For a coroutine that waits for something in its own process, but it is not known for which
// thread: a thread that may hand work over to its event loop; or, for what other coroutines do, the
// only one of these that waits for another process. If there is neither, nothing in the process
// ends the wait.
Holders of_coroutine(const JobView& view,
                     const ProcessCapture& process,
                     const ThreadCapture& coroutine) {
  Holders holders;
  holders.join = Join::kOneOf;
  holders.how = HowKnown::kExclusion;
  const bool inside = coroutine.wait.on == snapshot::WaitOn::kLock;
  if (coroutine.wait.on != snapshot::WaitOn::kThread && !inside) {
    return holders;
  }
  for (const ThreadCapture& other : process.threads) {
    const pid_t fed = other.wait.rare->feeds_loop;
    if (fed == -coroutine.tid || fed == -1) {
      add_holder_of(holders, &process, &other);
    }
  }
  if (inside && holders.who.empty()) {
    for (const ThreadCapture& other : view.coroutines(process)) {
      const bool itself = std::ranges::any_of(
          other.wait.rare->kept, [&](const auto& kept) { return kept.link == other.wait.path; });
      if (&other != &coroutine && itself && view.awaited_by(process, other) != nullptr) {
        add_holder_of(holders, &process, &other);
      }
    }
    holders.others = true;
    return holders.who.size() == 1 ? holders : Holders();
  }
  return holders;
}

// Returns whether the coroutine waits at a connection for no process of the job.
bool is_at_outside(const ProcessCapture& process, const ThreadCapture& coroutine) {
  const Wait& wait = coroutine.wait;
  return wait.on == snapshot::WaitOn::kSocket && wait.rare->peer != snapshot::StringId{} &&
         wait.holder_pid != process.pid;
}

// An event loop runs until a task ends, which may wait for another task, and so on: returns the
// last one if it waits for another process. If the last one waits for what any coroutine may bring
// (a queue, an event), returns by exclusion the only coroutine that waits for another process.
Holders of_loop(const JobView& view, const ProcessCapture& process, const ThreadCapture& loop) {
  Holders holders;
  if (is_coroutine(loop) || view.coroutines(process).empty()) {
    return holders;
  }
  const TaskWay way = tasks_awaited_by(view.model(), process, loop);
  if (way.tasks.empty()) {
    return holders;
  }
  for (const ThreadCapture& coroutine : view.coroutines(process)) {
    const ProcessCapture* other = view.awaited_by(process, coroutine);
    const bool is_last = coroutine.python_name == way.tasks.back()->name;
    if (other == nullptr ? is_last && is_at_outside(process, coroutine)
                         : (is_last || way.inside) && other != &process) {
      add_holder_of(holders, &process, &coroutine);
    }
  }
  const bool by_exclusion = holders.who.size() == 1 && way.inside;
  holders.join = by_exclusion ? Join::kOneOf : Join::kAll;
  holders.others = by_exclusion;
  holders.how = by_exclusion ? HowKnown::kExclusion : HowKnown::kMemory;
  return holders.who.size() == 1 ? holders : Holders();
}

}  // namespace

Holders holders_of(const JobView& view,
                   const ProcessCapture& process,
                   const ThreadCapture& thread) {
  Holders holders;
  const Wait& wait = thread.wait;
  if (thread.call) {
    return holders;
  }
  if (Holders tasks = of_loop(view, process, thread); !tasks.who.empty()) {
    return tasks;
  }
  if (const ThreadCapture* owner = awaited_thread(process, thread)) {
    // Another user of an object need not be the holder.
    const bool shares = wait.how == WaitHow::kObject;
    holders.join = shares ? Join::kOneOf : Join::kAll;
    holders.others = shares;
    holders.how = wait.inferred ? HowKnown::kFrames : HowKnown::kMemory;
    add_holder_of(holders, &process, owner);
  } else if (const ProcessCapture* other = view.awaited_by(process, thread)) {
    if (keeps_server_waiting(view, process, wait, *other)) {
      return holders;
    }
    holders.how = wait.inferred ? HowKnown::kFrames : HowKnown::kKernel;
    add_holder_of(holders, other, nullptr);
  } else if (wait.rare->about == snapshot::WaitAbout::kPool) {
    return of_pool(view, process, wait);
  } else if (wait.how == WaitHow::kFiles) {
    return of_files(view, process, wait);
  } else if (const auto keepers = by_keepers(view, process, thread)) {
    return *keepers;
  } else if (is_coroutine(thread)) {
    return of_coroutine(view, process, thread);
  } else if (is_at_own_lock(thread) || ends_in_own_process(process, wait)) {
    return by_exclusion(view, process, thread);
  }
  return holders;
}

}  // namespace oddrank::aggregate
