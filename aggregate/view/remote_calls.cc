#include "aggregate/view/remote_calls.h"

#include <algorithm>
#include <array>
#include <utility>

namespace oddrank::aggregate {

using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using Servers = std::vector<RemoteWait::Server>;

namespace {

// Returns what the thread runs a function for, "an RPC"; nullopt if it runs none.
std::optional<std::string_view> served_call(FrameModel& model, const ThreadCapture& thread) {
  if (thread.samples.empty()) {
    return std::nullopt;
  }
  const snapshot::ThreadSample& sample = thread.samples.back();
  if (const auto hit = model.story(sample, Story::kServesCall)) {
    return hit->pattern->words;
  }
  const auto loop = model.story(sample, Story::kServesLoop);
  return loop && model.works_inside(sample, *loop) ? std::optional(loop->pattern->words)
                                                   : std::nullopt;
}

Servers servers_of(FrameModel& model, const std::vector<RankView>& ranks, std::string_view call) {
  Servers servers;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    if (const auto* thread = serving_thread(model, *ranks[at].process, call)) {
      servers.push_back({at, thread});
    }
  }
  return servers;
}

// Returns those of the servers that may owe the caller its answer.
Servers meant(FrameModel& model, Servers servers, std::size_t caller) {
  std::erase_if(servers, [caller](const auto& server) { return server.rank == caller; });
  const auto ends = std::count_if(servers.begin(), servers.end(), [&model](const auto& server) {
    return !server.thread->call && !remote_call(model, *server.thread);
  });
  return servers.size() == 1 || ends == 1 ? servers : Servers();
}

}  // namespace

std::optional<std::string_view> remote_call(FrameModel& model, const ThreadCapture& thread) {
  if (thread.samples.empty() || thread.call) {
    return std::nullopt;
  }
  const auto hit = model.story(thread.samples.back(), Story::kRemoteCall);
  return hit ? std::optional(hit->pattern->words) : std::nullopt;
}

const ThreadCapture* serving_thread(FrameModel& model,
                                    const ProcessCapture& process,
                                    std::string_view call) {
  const ThreadCapture* serving = nullptr;
  for (const ThreadCapture& thread : process.threads) {
    if (served_call(model, thread) != call) {
      continue;
    }
    if (serving == nullptr) {
      serving = &thread;
    } else if (model.fold(serving->samples.back()).key != model.fold(thread.samples.back()).key) {
      return nullptr;
    }
  }
  return serving;
}

bool waits_for_work(FrameModel& model, const ThreadCapture& thread) {
  if (thread.samples.empty() || thread.call) {
    return false;
  }
  const snapshot::ThreadSample& sample = thread.samples.back();
  return std::ranges::any_of(std::array{Story::kServesLoop, Story::kIdle}, [&](Story story) {
    const auto loop = model.story(sample, story);
    return loop && !model.works_inside(sample, *loop);
  });
}

bool runs_function(FrameModel& model, const ThreadCapture& thread) {
  return served_call(model, thread).has_value();
}

std::vector<const ThreadCapture*> keepers_of(const snapshot::ProcessCapture& process,
                                             const snapshot::Wait& waiter,
                                             const snapshot::ProcessCapture& server) {
  std::vector<const ThreadCapture*> found;
  if (waiter.on != snapshot::WaitOn::kSocket) {
    return found;
  }
  const auto is_its_end = [&](const snapshot::KeptSocket& kept) {
    const bool here = process.node == server.node && waiter.rare->other_end != snapshot::StringId{};
    return here ? kept.link == waiter.rare->other_end
                : kept.local != snapshot::StringId{} && kept.local == waiter.rare->peer &&
                      kept.peer == waiter.rare->local;
  };
  for (const ThreadCapture& thread : server.threads) {
    const auto& kept = thread.wait.rare->kept;
    const auto own = std::find_if(kept.begin(), kept.end(), is_its_end);
    if (own != kept.end() && thread.wait.path != own->link &&
        std::ranges::none_of(thread.wait.rare->awaited, [&own](const snapshot::AwaitedFile& file) {
          return file.link == own->link;
        })) {
      found.push_back(&thread);
    }
  }
  return found;
}

std::vector<RemoteWait> find_remote_waits(FrameModel& model, const std::vector<RankView>& ranks) {
  std::vector<RemoteWait> waits;
  struct Caller {
    std::size_t rank = 0;
    const ThreadCapture* thread = nullptr;
    std::string_view call;
  };
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
    const auto [caller, thread, call] = callers[i];
    RemoteWait wait{caller, thread, meant(model, servers_of(model, ranks, call), caller)};
    for (const RemoteWait::Server& server : wait.servers) {
      const auto next = remote_call(model, *server.thread);
      const bool known = std::any_of(callers.begin(), callers.end(), [&](const auto& each) {
        return each.thread == server.thread;
      });
      if (next && !known) {
        callers.push_back({server.rank, server.thread, *next});
      }
    }
    if (!wait.servers.empty()) {
      waits.push_back(std::move(wait));
    }
  }
  return waits;
}

}  // namespace oddrank::aggregate
