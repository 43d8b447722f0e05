#include "aggregate/view/remote_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "aggregate/view/coroutines.h"
#include "aggregate/view/job_view.h"
#include "snapshot/collective_state.h"

namespace oddrank::aggregate {

using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::ResourceRequest;
using snapshot::ThreadCapture;
using Servers = std::vector<RemoteWait::Server>;

namespace {

// Returns what the thread runs a function for, "an RPC"; nullopt if it runs none.
std::optional<std::string_view> served_call(FrameModel& model, const ThreadCapture& thread) {
  const snapshot::ThreadSample* sample = last_sample(thread);
  if (const auto hit = model.story(sample, Story::kServesCall)) {
    return hit->pattern->words;
  }
  const auto loop = model.story(sample, Story::kServesLoop);
  return loop && model.works_inside(*sample, *loop) ? std::optional(loop->pattern->words)
                                                    : std::nullopt;
}

// Returns whether the thread is in the loop of this story, and in no function that it calls.
bool rests_inside(FrameModel& model, const ThreadCapture& thread, Story story) {
  const auto loop = model.story(last_sample(thread), story);
  return loop && !thread.call && !model.works_inside(thread.samples.back(), *loop);
}

Servers servers_of(FrameModel& model, const std::vector<RankView>& ranks, std::string_view call) {
  Servers servers;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    if (const auto* thread = serving_thread(model, ranks[at], call)) {
      servers.push_back({at, thread});
    }
  }
  return servers;
}

// Returns whether one of the asked actors has no known process. Precondition: all ranks have a
// process.
bool asks_unseen_actor(const snapshot::AskedObjects& asked, const std::vector<RankView>& ranks) {
  return std::ranges::any_of(asked.actors, [&](snapshot::StringId actor) {
    return std::ranges::none_of(ranks,
                                [&](const RankView& rank) { return rank.process->actor == actor; });
  });
}

// Returns whether the process may run what the thread has asked for: an actor's methods run only in
// the actor.
bool may_be_asked(const ThreadCapture& caller,
                  const ProcessCapture& server,
                  const std::vector<RankView>& ranks) {
  const snapshot::AskedObjects& asked = caller.wait.rare->asked;
  if (!asked.known) {
    return true;
  }
  if (server.actor == snapshot::StringId{}) {
    return asked.tasks || asks_unseen_actor(asked, ranks);
  }
  return std::ranges::find(asked.actors, server.actor) != asked.actors.end();
}

bool is_its_coroutine(const RankView& rank, const ThreadCapture& thread) {
  return rank.coroutine != nullptr && &rank.coroutine->thread == &thread;
}

// Returns the same as remote_call(), also for a coroutine: it may wait for another process, or for
// a future caller.
std::optional<std::string_view> call_of(FrameModel& model,
                                        const RankView& rank,
                                        const ThreadCapture& thread) {
  return is_its_coroutine(rank, thread) ? served_call(model, thread) : remote_call(model, thread);
}

// Returns the servers that may owe the caller its answer.
// `alone`: also the only one, if it waits for an answer itself.
Servers meant(FrameModel& model,
              const std::vector<RankView>& ranks,
              Servers servers,
              bool alone = true) {
  const auto ends = std::ranges::count_if(servers, [&](const auto& server) {
    return !server.thread->call && !call_of(model, ranks[server.rank], *server.thread);
  });
  return (alone && servers.size() == 1) || ends == 1 ? servers : Servers();
}

}  // namespace

std::optional<std::string_view> remote_call(FrameModel& model, const ThreadCapture& thread) {
  const auto hit =
      thread.call ? std::nullopt : model.story(last_sample(thread), Story::kRemoteCall);
  return hit ? std::optional(hit->pattern->words) : std::nullopt;
}

const ThreadCapture* serving_thread(FrameModel& model,
                                    const RankView& rank,
                                    std::string_view call) {
  const ThreadCapture* serving = nullptr;
  for (const ThreadCapture& thread : rank.process->threads) {
    if (served_call(model, thread) != call) {
      continue;
    }
    if (serving == nullptr) {
      serving = &thread;
    } else if (model.fold(serving->samples.back()).key != model.fold(thread.samples.back()).key) {
      return nullptr;
    }
  }
  const ThreadCapture* coroutine = rank.coroutine == nullptr ? nullptr : &rank.coroutine->thread;
  return serving != nullptr || coroutine == nullptr || served_call(model, *coroutine) != call
             ? serving
             : coroutine;
}

bool waits_for_work(FrameModel& model, const ThreadCapture& thread) {
  return rests_inside(model, thread, Story::kServesLoop) ||
         rests_inside(model, thread, Story::kIdle);
}

bool waits_to_serve(FrameModel& model, const ThreadCapture& thread) {
  return rests_inside(model, thread, Story::kServesLoop);
}

bool runs_function(FrameModel& model, const ThreadCapture& thread) {
  return served_call(model, thread).has_value();
}

bool asks_another_process(FrameModel& model, const RankView& rank) {
  const auto call = rank.decider == nullptr ? std::nullopt : remote_call(model, *rank.decider);
  if (!call) {
    return false;
  }
  const snapshot::AskedObjects& asked = rank.decider->wait.rare->asked;
  if (asked.known) {
    return std::ranges::find(asked.actors, rank.process->actor) == asked.actors.end();
  }
  return std::ranges::none_of(rank.process->threads, [&](const ThreadCapture& thread) {
    return served_call(model, thread) == call;
  });
}

namespace {

// Returns whether the thread waits at a socket without another end, like one that accepts
// connections: it may still have the last one that it handed over in a variable.
bool waits_for_anybody(const snapshot::Wait& wait) {
  return wait.on == snapshot::WaitOn::kSocket && wait.how != snapshot::WaitHow::kFiles &&
         wait.holder_pid == 0 && wait.rare->peer == snapshot::StringId{} &&
         wait.rare->other_end == snapshot::StringId{};
}

// The waiter's connection as its other end sees it.
class OtherEnd {
 public:
  OtherEnd(const ProcessCapture& process,
           const snapshot::Wait& waiter,
           const ProcessCapture& server)
      : waiter_(waiter),
        here_(process.node == server.node && waiter.rare->other_end != snapshot::StringId{}) {}

  // Returns the thread's own descriptor of it; null: it has none at hand.
  const snapshot::KeptSocket* in(const ThreadCapture& thread) const;

 private:
  bool is(const snapshot::KeptSocket& kept) const;

  const snapshot::Wait& waiter_;
  bool here_;
};

bool OtherEnd::is(const snapshot::KeptSocket& kept) const {
  return here_ ? kept.link == waiter_.rare->other_end
               : kept.local != snapshot::StringId{} && kept.local == waiter_.rare->peer &&
                     kept.peer == waiter_.rare->local;
}

const snapshot::KeptSocket* OtherEnd::in(const ThreadCapture& thread) const {
  const auto& kept = thread.wait.rare->kept;
  const auto own = std::ranges::find_if(kept, [this](const auto& one) { return is(one); });
  return own == kept.end() ? nullptr : &*own;
}

}  // namespace

std::vector<const ThreadCapture*> keepers_of(const JobView& view,
                                             const ProcessCapture& process,
                                             const snapshot::Wait& waiter,
                                             const ProcessCapture& server) {
  std::vector<const ThreadCapture*> found;
  if (waiter.on != snapshot::WaitOn::kSocket) {
    return found;
  }
  const OtherEnd end(process, waiter, server);
  const auto add_if_keeper = [&](const ThreadCapture& thread) {
    const snapshot::KeptSocket* own = end.in(thread);
    if (own != nullptr && thread.wait.path != own->link && !waits_for_anybody(thread.wait) &&
        std::ranges::none_of(thread.wait.rare->awaited, [own](const snapshot::AwaitedFile& file) {
          return file.link == own->link;
        })) {
      found.push_back(&thread);
    }
  };
  std::ranges::for_each(server.threads, add_if_keeper);
  std::ranges::for_each(view.coroutines(server), add_if_keeper);
  return found;
}

bool is_read_at_other_end(const JobView& view,
                          const ProcessCapture& process,
                          const snapshot::Wait& waiter,
                          const ProcessCapture& server) {
  const OtherEnd end(process, waiter, server);
  return waiter.on == snapshot::WaitOn::kSocket &&
         std::ranges::any_of(view.coroutines(server), [&end](const ThreadCapture& coroutine) {
           const snapshot::KeptSocket* own = end.in(coroutine);
           return own != nullptr && coroutine.wait.path == own->link;
         });
}

namespace {

struct Caller {
  std::size_t rank = 0;
  const ThreadCapture* thread = nullptr;
  std::string_view call;
};

bool is_beyond_cluster(const ResourceRequest& request) {
  return request.asked > request.total;
}

bool may_be_meant(const std::vector<RankView>& ranks,
                  const ResourceRequest& request,
                  const snapshot::AskedObjects& asked,
                  std::string_view call) {
  constexpr std::int64_t kSurelyPendingMs = 5000;  // it is in two of Ray's statuses
  if (!call.ends_with("of Ray") ||
      (request.pending_ms < kSurelyPendingMs && !is_beyond_cluster(request))) {
    return false;
  }
  if (!asked.known) {
    return request.is_group || !call.starts_with("a placement group");
  }
  return request.is_group ? asked.others : asked.tasks || asks_unseen_actor(asked, ranks);
}

// Returns the requests that the thread may wait for in `call`: for a placement group, a task, or an
// actor without a process. Leaves out very recent ones, unless the cluster does not have as much.
std::vector<const ResourceRequest*> find_wanted(const std::vector<RankView>& ranks,
                                                const std::vector<ResourceRequest>& requests,
                                                const snapshot::ThreadCapture& thread,
                                                std::string_view call) {
  std::vector<const ResourceRequest*> wanted;
  for (const ResourceRequest& request : requests) {
    if (may_be_meant(ranks, request, thread.wait.rare->asked, call)) {
      wanted.push_back(&request);
    }
  }
  return wanted;
}

// Returns whether the process has some of what the request lacks, and will give it back. kNo also
// if that would not help: the cluster does not have as much.
Known holds(const ResourceRequest& request, const snapshot::ProcessCapture& process) {
  if (is_beyond_cluster(request)) {
    return Known::kNo;
  }
  const auto& holders = request.holders;
  const bool all_known = process.node == request.node && request.lacks != snapshot::StringId{} &&
                         (!holders.empty() || request.free == request.total);
  if (!all_known) {
    return Known::kUnknown;
  }
  return std::ranges::find(holders, process.pid) == holders.end() ? Known::kNo : Known::kYes;
}

// Returns the requests for resources that the caller may wait for, and the working processes that
// have what is missing; nothing if it is not known which of these it waits for.
RemoteWait wants_of(FrameModel& model,
                    const std::vector<RankView>& ranks,
                    const std::vector<ResourceRequest>& requests,
                    const Caller& caller) {
  RemoteWait wait{caller.rank, caller.thread, {}, {}};
  const RankView& rank = ranks[caller.rank];
  if (is_its_coroutine(rank, *caller.thread) && rank.coroutine->inside) {
    return wait;
  }
  wait.wants = find_wanted(ranks, requests, *caller.thread, caller.call);
  Servers at_work;
  for (std::size_t at = 0; at < ranks.size() && !wait.wants.empty(); ++at) {
    const auto& threads = ranks[at].process->threads;
    const auto runs = std::ranges::find_if(
        threads, [&model](const auto& thread) { return runs_function(model, thread); });
    const ThreadCapture* thread = runs != threads.end()            ? &*runs
                                  : ranks[at].coroutine != nullptr ? &ranks[at].coroutine->thread
                                                                   : nullptr;
    if (at != caller.rank && thread != nullptr) {
      at_work.push_back({at, thread});
    }
  }
  Servers holders;
  for (const RemoteWait::Server& server : at_work) {
    const auto is = [&](Known known) {
      return std::ranges::any_of(wait.wants, [&](const auto* request) {
        return holds(*request, *ranks[server.rank].process) == known;
      });
    };
    if (is(Known::kUnknown)) {
      wait.wants.clear();
      return wait;
    }
    if (is(Known::kYes)) {
      holders.push_back(server);
    }
  }
  wait.servers = meant(model, ranks, holders);
  if (wait.servers.empty() && !holders.empty()) {
    wait.wants.clear();
  }
  return wait;
}

RemoteWait find_answer(FrameModel& model,
                       const std::vector<RankView>& ranks,
                       const std::vector<ResourceRequest>& requests,
                       const Caller& caller) {
  Servers servers = servers_of(model, ranks, caller.call);
  std::erase_if(servers, [&](const auto& server) {
    return server.rank == caller.rank ||
           !may_be_asked(*caller.thread, *ranks[server.rank].process, ranks);
  });
  if (servers.empty()) {
    return wants_of(model, ranks, requests, caller);
  }
  // If it is not known what a coroutine waits for, its caller may be the only one left.
  const bool known = !is_its_coroutine(ranks[caller.rank], *caller.thread) ||
                     caller.thread->wait.rare->asked.known;
  return {caller.rank, caller.thread, meant(model, ranks, std::move(servers), known), {}};
}

// Returns whether the thread runs functions for callers of `call`, and was seen at work and at
// rest.
bool takes_turns_in(FrameModel& model, const ThreadCapture& thread, std::string_view call) {
  bool rested = false;
  bool worked = false;
  for (const snapshot::ThreadSample& sample : thread.samples) {
    const auto loop = model.story(sample, Story::kServesLoop);
    const bool works = loop && model.works_inside(sample, *loop);
    worked = worked || (works && loop->pattern->words == call);
    rested = rested || (loop && !works);
  }
  return worked && rested;
}

class Givers {
 public:
  Givers(FrameModel& model, const std::vector<RankView>& ranks);

  std::vector<std::size_t> find();

 private:
  using Call = std::string_view;
  using Starter = std::tuple<Call, std::uint32_t, pid_t>;  // and its node and pid

  bool have_turns(const std::vector<std::size_t>& servers, Call call);

  FrameModel& model_;
  const std::vector<RankView>& ranks_;
  std::map<Call, std::vector<std::size_t>> callers_;
  std::map<Call, std::vector<std::size_t>> servers_;
  std::map<Starter, std::vector<std::size_t>> started_;
};

Givers::Givers(FrameModel& model, const std::vector<RankView>& ranks)
    : model_(model), ranks_(ranks) {
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    if (ranks[at].presence != Presence::kRead || ranks[at].decider == nullptr) {
      continue;
    }
    const ProcessCapture& process = *ranks[at].process;
    if (const auto call = remote_call(model, *ranks[at].decider)) {
      callers_[*call].push_back(at);
    }
    std::set<Call> served;
    for (const ThreadCapture& thread : process.threads) {
      if (const auto loop = model.story(last_sample(thread), Story::kServesLoop)) {
        served.insert(loop->pattern->words);
      }
    }
    for (const Call call : served) {
      servers_[call].push_back(at);
      started_[{call, process.node, process.parent}].push_back(at);
    }
  }
}

bool Givers::have_turns(const std::vector<std::size_t>& servers, Call call) {
  const auto moves = [this](std::size_t at) { return ranks_[at].motion.moved(); };
  return std::ranges::all_of(servers, moves) && std::ranges::any_of(servers, [&](std::size_t at) {
           return std::ranges::any_of(ranks_[at].process->threads, [&](const auto& thread) {
             return takes_turns_in(model_, thread, call);
           });
         });
}

std::vector<std::size_t> Givers::find() {
  std::vector<std::size_t> found;
  for (const auto& [call, callers] : callers_) {
    for (const std::size_t at : callers) {
      const ProcessCapture& process = *ranks_[at].process;
      const auto own = started_.find({call, process.node, process.pid});
      if (own != started_.end() ? have_turns(own->second, call)
                                : callers.size() == 1 && have_turns(servers_[call], call)) {
        found.push_back(at);
      }
    }
  }
  return found;
}

}  // namespace

std::vector<std::size_t> find_givers(FrameModel& model, const std::vector<RankView>& ranks) {
  return Givers(model, ranks).find();
}

std::vector<RemoteWait> find_remote_waits(FrameModel& model,
                                          const std::vector<RankView>& ranks,
                                          const std::vector<ResourceRequest>& requests) {
  std::vector<RemoteWait> waits;
  std::vector<Caller> callers;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    if (ranks[at].presence != Presence::kRead || ranks[at].sample() == nullptr) {
      return {};
    }
    if (const auto call = remote_call(model, *ranks[at].decider)) {
      callers.push_back({at, ranks[at].decider, *call});
    }
  }
  // A server that waits for an answer itself is a caller, too, whatever its main thread does.
  for (std::size_t i = 0; i < callers.size(); ++i) {
    RemoteWait wait = find_answer(model, ranks, requests, callers[i]);
    for (const RemoteWait::Server& server : wait.servers) {
      const auto next = call_of(model, ranks[server.rank], *server.thread);
      const bool known = std::ranges::any_of(
          callers, [&](const auto& each) { return each.thread == server.thread; });
      if (next && !known) {
        callers.push_back({server.rank, server.thread, *next});
      }
    }
    if (!wait.servers.empty() || !wait.wants.empty()) {
      waits.push_back(std::move(wait));
    }
  }
  return waits;
}

}  // namespace oddrank::aggregate
