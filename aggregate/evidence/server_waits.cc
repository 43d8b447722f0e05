#include "aggregate/evidence/server_waits.h"

#include <algorithm>

#include "aggregate/view/coroutines.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/thread_cycle.h"

namespace oddrank::aggregate {

using snapshot::AwaitedFile;
using snapshot::ThreadCapture;
using snapshot::Wait;
using snapshot::WaitOn;

namespace {

bool is_local_socket(const JobView& view, const AwaitedFile& file) {
  return view.text(file.local).empty() && view.text(file.link).starts_with("socket:");
}

// Returns whether the wait is an event loop's, which the process's other threads can wake: it has
// all connections that it has accepted, even if it does not poll them now.
bool is_event_loop(const JobView& view, const Wait& wait, pid_t own) {
  return wait.how == snapshot::WaitHow::kFiles &&
         (has_waker(view, wait) ||
          std::ranges::any_of(wait.rare->awaited,
                              [own](const AwaitedFile& file) { return file.holder_pid == own; }));
}

// Returns whether the thread waits at the connection's other end, or may have yet to accept it.
bool answers_at(const JobView& view, const ThreadCapture& thread, const Wait& waiter, pid_t own) {
  const Wait& wait = thread.wait;
  const auto& awaited = wait.rare->awaited;
  if (thread.call || wait.on != WaitOn::kSocket) {
    return false;
  }
  const std::string_view port = snapshot::port_part(view.text(waiter.rare->peer));
  if (awaited.empty()) {
    return port.empty() && view.text(wait.path).starts_with("socket:");
  }
  return std::ranges::any_of(awaited, [&](const AwaitedFile& file) {
    if (port.empty()) {
      return is_local_socket(view, file);
    }
    const bool may_be_it =
        file.listens() ? file.unread > 0 ||  // the connections that wait to be accepted
                             is_event_loop(view, wait, own)
                       : file.peer == snapshot::StringId{} || file.peer == waiter.rare->local;
    return may_be_it && snapshot::port_part(view.text(file.local)) == port;
  });
}

// Returns whether the wait is for an answer over a connection to one of those sockets.
bool leads_to(const JobView& view, const Wait& wait, const Wait& server) {
  if (wait.on != WaitOn::kSocket) {
    return false;
  }
  const auto& listening = server.rare->awaited;
  const std::string_view port = snapshot::port_part(view.text(wait.rare->peer));
  return (listening.empty() && port.empty()) ||
         std::ranges::any_of(listening, [&](const AwaitedFile& file) {
           return snapshot::port_part(view.text(file.local)) == port;
         });
}

// Returns whether the file is a connection to another process, or a socket that takes new ones.
bool leads_outside(const JobView& view, const AwaitedFile& file, pid_t own) {
  return file.listens() || (file.holder_pid != own &&
                            (file.peer != snapshot::StringId{} || is_local_socket(view, file)));
}

bool waits_at_others(const JobView& view, const Wait& wait, pid_t own) {
  const auto& awaited = wait.rare->awaited;
  if (awaited.empty()) {
    return wait.on == WaitOn::kSocket && wait.holder_pid != own;
  }
  return (wait.on == WaitOn::kSocket || wait.how == snapshot::WaitHow::kFiles) &&
         std::ranges::any_of(
             awaited, [&](const AwaitedFile& file) { return leads_outside(view, file, own); });
}

}  // namespace

bool takes_requests(const JobView& view,
                    const snapshot::ProcessCapture& process,
                    const ThreadCapture* waiting) {
  return std::ranges::any_of(process.threads, [&](const ThreadCapture& each) {
    return &each != waiting && !each.call && waits_at_others(view, each.wait, process.pid) &&
           !view.model().story(each.samples.back(), Story::kPool);
  });
}

bool is_open(const JobView& view, const RankView& rank) {
  if (rank.decider == nullptr) {
    return false;
  }
  if (tasks_awaited_by(view.model(), *rank.process, *rank.decider).inside) {
    return false;
  }
  const auto& threads = rank.process->threads;
  // The wait of a thread that is known to be awaited decides, even if other threads listen.
  const ThreadChain chain = follow_threads(*rank.process, *rank.decider);
  const ThreadCapture& last = chain.way.empty() ? *rank.decider : *chain.way.back();
  const WaitOn on = last.wait.on;
  const bool listens =
      &last != rank.decider && !last.call && waits_at_others(view, last.wait, rank.process->pid);
  return (on == WaitOn::kLock || on == WaitOn::kThread || listens) &&
         last.wait.lock.owner != snapshot::LockOwner::kNobodyElse &&
         takes_requests(view, *rank.process, rank.decider) &&
         std::ranges::none_of(threads, [&view](const auto& thread) {
           return thread.has_python && is_at_work(thread, view.model());
         });
}

bool has_waker(const JobView& view, const Wait& wait) {
  return wait.rare->own_wakers || view.text(wait.path).starts_with("anon_inode:");
}

bool awaits_connections(const JobView& view, const Wait& wait) {
  const auto& awaited = wait.rare->awaited;
  if (wait.how != snapshot::WaitHow::kFiles) {
    return wait.on == WaitOn::kSocket && view.text(wait.syscall_name).starts_with("accept");
  }
  return wait.rare->awaited_count == awaited.size() && !awaited.empty() &&
         std::ranges::all_of(awaited, &AwaitedFile::listens);
}

std::vector<const ThreadCapture*> answering_threads(const Wait& waiter,
                                                    const snapshot::ProcessCapture& server,
                                                    const ThreadCapture* speaker) {
  std::vector<const ThreadCapture*> found;
  for (const ThreadCapture& thread : server.threads) {
    if (waiter.on == WaitOn::kSocket && thread.has_python && &thread != speaker &&
        awaited_thread(server, thread) != nullptr) {
      found.push_back(&thread);
    }
  }
  return found;
}

bool answers_beside(const JobView& view,
                    const Wait& waiter,
                    const snapshot::ProcessCapture& server,
                    const ThreadCapture* speaker) {
  if (waiter.on != WaitOn::kSocket) {
    return false;
  }
  return std::ranges::any_of(server.threads, [&](const ThreadCapture& each) {
    return each.has_python && &each != speaker && answers_at(view, each, waiter, server.pid);
  });
}

std::vector<std::size_t> connected_ranks(const JobView& view, std::size_t at) {
  std::vector<std::size_t> found;
  const RankView& server = view.rank(at);
  if (server.decider == nullptr || server.decider->call ||
      !awaits_connections(view, server.decider->wait)) {
    return found;
  }
  for (std::size_t other = 0; other < view.ranks().size(); ++other) {
    const RankView& rank = view.rank(other);
    if (other != at && rank.decider != nullptr &&
        leads_to(view, rank.decider->wait, server.decider->wait) &&
        view.awaited_by(*rank.process, *rank.decider) == server.process) {
      found.push_back(other);
    }
  }
  return found;
}

namespace {

// Returns whether the thread waits for connections, and for no other process that has one.
bool listens_in_vain(const ThreadCapture& thread, pid_t own) {
  const auto& awaited = thread.wait.rare->awaited;
  return std::ranges::any_of(awaited, &AwaitedFile::listens) &&
         std::ranges::none_of(awaited, [own](const AwaitedFile& file) {
           return file.holder_pid != 0 && file.holder_pid != own;
         });
}

// Returns the library whose call the thread is in; "" if it is in none.
std::string_view library_of(const JobView& view, const ThreadCapture& thread) {
  const snapshot::Tables& tables = view.capture().tables;
  for (const snapshot::FrameId id : view.model().all_frames(thread.samples.back())) {
    const snapshot::Frame& frame = tables.frame(id);
    const std::string_view file = view.text(frame.file);
    if (frame.kind != snapshot::FrameKind::kNative || !snapshot::is_libc(file)) {
      return frame.kind == snapshot::FrameKind::kNative ? file : std::string_view();
    }
  }
  return {};
}

// Returns whether the thread sleeps in a library whose own listening thread wakes it when something
// arrives.
bool is_fed_by_library(const JobView& view,
                       const snapshot::ProcessCapture& process,
                       const ThreadCapture& thread) {
  const bool woken = thread.wait.on == WaitOn::kUnknown && has_waker(view, thread.wait);
  const std::string_view library = woken ? library_of(view, thread) : std::string_view();
  return !library.empty() && std::ranges::any_of(process.threads, [&](const auto& other) {
    return &other != &thread && listens_in_vain(other, process.pid) &&
           library_of(view, other) == library;
  });
}

// Returns whether the thread waits for another thread, but not on behalf of the program: it does
// what a client of a library's server has asked for, or will answer anyway.
bool serves_a_wait(const JobView& view, const ThreadCapture& thread) {
  const WaitOn on = thread.wait.on;
  if (thread.call || (on != WaitOn::kLock && on != WaitOn::kThread)) {
    return false;
  }
  const auto frame = view.model().user_frame(thread.samples.back());
  return thread.wait.limited || (frame && !frame->user);
}

// Returns whether the thread runs a server, or rests in a loop.
bool keeps_house(const JobView& view, const RankView& rank, const ThreadCapture& thread) {
  return !thread.call && ((&thread == rank.decider && rank.polls == snapshot::PollOn::kQueue) ||
                          rests_in_loop(view, thread) ||
                          view.model().story(thread.samples.back(), Story::kIdle).has_value());
}

// Returns whether the innermost Python function of the thread is a library's.
bool is_in_library(const JobView& view, const ThreadCapture& thread) {
  const auto frame = view.model().python_frame(last_sample(thread));
  return frame && !view.model().shown(*frame).user;
}

// Returns whether a client has opened this connection to a server that listens at one of these; or
// the process at the other end waits for this one.
bool is_session(const JobView& view,
                const snapshot::ProcessCapture& process,
                const Wait& wait,
                const AwaitedFile& file) {
  const std::string_view port = snapshot::port_part(view.text(file.local));
  if (!port.empty()) {
    return std::ranges::any_of(wait.rare->awaited, [&](const AwaitedFile& other) {
      return other.listens() && snapshot::port_part(view.text(other.local)) == port;
    });
  }
  const snapshot::ProcessCapture* client = view.process(process.node, file.holder_pid);
  return client != nullptr && is_local_socket(view, file) &&
         std::ranges::any_of(client->threads, [&process](const ThreadCapture& thread) {
           return thread.wait.holder_pid == process.pid;
         });
}

// Returns whether the thread waits for new connections, or for requests on existing ones. A loop
// without Python is a library's: its process does not wake it for work of the program.
bool awaits_requests(const JobView& view,
                     const snapshot::ProcessCapture& process,
                     const ThreadCapture& thread) {
  const Wait& wait = thread.wait;
  const auto& awaited = wait.rare->awaited;
  const pid_t own = thread.has_python ? process.pid : 0;
  if (wait.how != snapshot::WaitHow::kFiles) {
    return awaits_connections(view, wait);
  }
  return wait.rare->awaited_count == awaited.size() &&
         std::ranges::any_of(awaited, &AwaitedFile::listens) &&
         std::ranges::all_of(awaited, [&](const AwaitedFile& file) {
           return file.listens() || (own != 0 && file.holder_pid == own) ||
                  is_session(view, process, wait, file);
         });
}

// Returns whether nothing but a request, or a clock, wakes the program: one of its threads accepts
// connections, and all others serve or keep house. The deciding thread may be the accepting one if
// it is in a library's event loop and no rank has asked for an answer: a loop of the program's own
// may wait for one of its threads.
bool has_only_servers(const JobView& view, const RankView& rank, bool asked) {
  bool accepts = false;
  for (const ThreadCapture& thread : rank.process->threads) {
    if (!thread.has_python || thread.samples.empty()) {
      continue;
    }
    const bool counts = &thread != rank.decider || (!asked && is_in_library(view, thread));
    if (counts && awaits_requests(view, *rank.process, thread)) {
      accepts = true;
    } else if (!keeps_house(view, rank, thread) && !serves_a_wait(view, thread)) {
      return false;
    }
  }
  return accepts;
}

// Returns whether the rank waits for what its listening thread brings.
bool is_fed_by_listener(const JobView& view, const RankView& rank) {
  const ThreadCapture* last = follow_threads(*rank.process, *rank.decider).end();
  return last != nullptr && last != rank.decider && awaits_requests(view, *rank.process, *last);
}

// Returns whether others wait in a call for the rank's part, not for work from it as in a
// broadcast. Workers of RPC serve while they wait for the end.
bool owes_its_part(const JobView& view, const std::vector<Slot>& slots, std::size_t at) {
  const auto is_of_rpc = [&view](const Slot& slot) {
    const ThreadCapture* first =
        slot.inside.empty() ? nullptr : view.rank(slot.inside.front()).decider;
    return first != nullptr && first->call &&
           view.text(first->call->group) == snapshot::kRpcWorkers;
  };
  return std::ranges::any_of(slots, [&](const Slot& slot) {
    return std::ranges::binary_search(slot.absent, at) &&
           (has_root_inside(view, slot) || slot.root < 0) && !is_of_rpc(slot);
  });
}

}  // namespace

bool may_be_idle(const JobView& view, const std::vector<Slot>& slots, std::size_t at) {
  const RankView& rank = view.rank(at);
  if (rank.decider == nullptr || rank.decider->call || owes_its_part(view, slots, at)) {
    return false;
  }
  const auto listens = [&](const ThreadCapture& thread) {
    return awaits_requests(view, *rank.process, thread);
  };
  const auto& threads = rank.process->threads;
  // If its own threads wake it, one of them may have to.
  const bool itself =
      awaits_connections(view, rank.decider->wait) && !rank.decider->wait.rare->own_wakers;
  const bool waits_for_work = itself || is_fed_by_library(view, *rank.process, *rank.decider) ||
                              is_fed_by_listener(view, rank) ||
                              (is_open(view, rank) && std::ranges::any_of(threads, listens));
  const auto& ranks = view.ranks();
  const auto may_ask = [&](const RankView& other) {
    return &other != &rank && other.decider != nullptr && !other.decider->call &&
           (other.decider->wait.on == WaitOn::kSocket ||
            std::ranges::find(other.servers, at) != other.servers.end());
  };
  if (has_only_servers(view, rank, true)) {
    return true;
  }
  const bool unless_asked = waits_for_work || has_only_servers(view, rank, false);
  return unless_asked && std::ranges::none_of(ranks, may_ask);  // last: each rank asks about all
}

bool waits_for_listener(const JobView& view, const std::vector<Slot>& slots, std::size_t at) {
  return may_be_idle(view, slots, at) && is_fed_by_listener(view, view.rank(at));
}

std::optional<std::vector<std::size_t>> ServerClients::distances_to(std::size_t server) {
  constexpr std::size_t kMaxServers = 64;
  if (++servers_ > kMaxServers) {
    return std::nullopt;
  }
  if (in_.empty()) {
    in_ = reversed(out_);
  }
  return distances(in_, {server});
}

}  // namespace oddrank::aggregate
