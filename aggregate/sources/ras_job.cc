#include "aggregate/sources/ras_job.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

using snapshot::RasCommunicator;
using snapshot::RasPresence;
using snapshot::RasRank;

constexpr std::size_t kMaxWords = 4;  // members that a sentence lists

// Returns whether the member's counts are known; the other members did not answer.
bool answered(const RasMemberView& member) {
  return member.reported.presence == RasPresence::kAnswered ||
         member.reported.presence == RasPresence::kMemory;
}

bool is_read(const RasMemberView& member) {
  return member.reported.presence == RasPresence::kMemory;
}

// Finds the member's process with the help of the agent on its node.
RasMemberView view_member(const JobView& view, std::uint32_t node, const RasRank& reported) {
  RasMemberView member;
  member.member = reported.rank;
  member.reported = reported;
  const auto* process = reported.pid == 0 ? nullptr : view.process(node, reported.pid);
  if (process != nullptr && process->is_rank && process->rank >= 0) {
    member.rank = process->rank;
    member.words =
        fmt::format("rank {} ({}, pid {})", process->rank, view.host(*process), reported.pid);
  } else if (reported.rank < 0) {
    member.words = "the others";
  } else {
    const std::string host = printable(view.text(reported.host), 60);
    member.words =
        fmt::format("member {}{}{}", reported.rank,
                    reported.reported_pid > 0 ? fmt::format(", pid {}", reported.reported_pid) : "",
                    host.empty() ? "" : " on " + host);
  }
  return member;
}

// Prefers a member whose counts are known, then one that the service told about, then one that is a
// process of ours.
bool is_better(const RasMemberView& one, const RasMemberView& other) {
  const auto worth = [](const RasMemberView& member) {
    return std::tuple(answered(member), !is_read(member), member.rank >= 0);
  };
  return worth(one) > worth(other);
}

const snapshot::RasCounts& latest(const RasMemberView& member) {
  return member.reported.later != snapshot::kNoRasCounts ? member.reported.later
                                                         : member.reported.counts;
}

void compare_looks(RasCommunicatorView& communicator) {
  bool once = false;
  for (const RasMemberView& member : communicator.members) {
    if (!answered(member) || member.reported.counts == snapshot::kNoRasCounts) {
      continue;
    }
    const bool twice = member.reported.later != snapshot::kNoRasCounts;
    once = once || !twice;
    communicator.asked_twice = communicator.asked_twice || twice;
    communicator.moved =
        communicator.moved || (twice && member.reported.later != member.reported.counts);
  }
  communicator.asked_twice = communicator.asked_twice && !once;
}

void compare_counts(RasCommunicatorView& communicator) {
  // If several operations differ, picks the one in which the fewest are behind.
  for (std::size_t operation = 0; operation < snapshot::kRasOperations; ++operation) {
    std::int64_t most = -1;
    for (const RasMemberView& member : communicator.members) {
      most = std::max(most, answered(member) ? latest(member)[operation] : -1);
    }
    std::vector<std::size_t> behind;
    for (std::size_t at = 0; at < communicator.members.size(); ++at) {
      const std::int64_t count = latest(communicator.members[at])[operation];
      if (answered(communicator.members[at]) && count >= 0 && count < most) {
        behind.push_back(at);
      }
    }
    if (!behind.empty() &&
        (communicator.behind.empty() || behind.size() < communicator.behind.size())) {
      communicator.operation = operation;
      communicator.behind = std::move(behind);
      communicator.most = most;
    }
  }
}

std::string list_words(const RasCommunicatorView& communicator,
                       const std::vector<std::size_t>& which) {
  std::string text;
  for (std::size_t at = 0; at < which.size(); ++at) {
    if (at == kMaxWords) {
      return text + fmt::format(" and {} more", which.size() - at);
    }
    text += (text.empty() ? "" : ", ") + communicator.members[which[at]].words;
  }
  return text;
}

template <typename Wanted>
std::vector<std::size_t> members_that(const RasCommunicatorView& communicator, Wanted wanted) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < communicator.members.size(); ++at) {
    if (wanted(communicator.members[at])) {
      found.push_back(at);
    }
  }
  return found;
}

std::string counts_words(const RasCommunicatorView& communicator) {
  const std::int64_t least =
      latest(communicator.members[communicator.behind.front()])[communicator.operation];
  return fmt::format(
      "{} launched {} {} times, the others {}", list_words(communicator, communicator.behind),
      snapshot::kRasOperationNames[communicator.operation], least, communicator.most);
}

}  // namespace

std::vector<RasCommunicatorView> view_ras(const JobView& view) {
  std::map<std::string, RasCommunicatorView> by_hash;
  for (const RasCommunicator& reported : view.capture().collectives.ras) {
    const std::string hash = printable(view.text(reported.hash), 80);
    RasCommunicatorView& communicator = by_hash[hash];
    communicator.hash = hash;
    communicator.version = printable(view.text(reported.version), 20);
    communicator.size = std::max(communicator.size, reported.size);
    for (const RasRank& rank : reported.ranks) {
      communicator.members.push_back(view_member(view, reported.node, rank));
      (is_read(communicator.members.back()) ? communicator.from_memory
                                            : communicator.from_service) = true;
    }
  }
  std::vector<RasCommunicatorView> list;
  for (auto& entry : by_hash) {
    auto& members = entry.second.members;
    std::ranges::stable_sort(members, [](const RasMemberView& a, const RasMemberView& b) {
      return a.member != b.member ? a.member < b.member : is_better(a, b);
    });
    const auto same = [](const RasMemberView& a, const RasMemberView& b) {
      return a.member == b.member;
    };
    members.erase(std::unique(members.begin(), members.end(), same), members.end());
    compare_looks(entry.second);
    compare_counts(entry.second);
    list.push_back(std::move(entry.second));
  }
  return list;
}

std::string ras_source(const std::vector<RasCommunicatorView>& communicators) {
  bool service = false;
  bool memory = false;
  for (const RasCommunicatorView& communicator : communicators) {
    service = service || communicator.from_service;
    memory = memory || communicator.from_memory;
  }
  return !memory ? "RAS" : service ? "RAS and NCCL memory" : "NCCL memory";
}

std::string launch_words(const RasCommunicatorView& communicator) {
  return fmt::format("by {}, {}", ras_source({communicator}), counts_words(communicator));
}

std::string ras_words(const RasCommunicatorView& communicator) {
  std::vector<std::string> parts;
  if (communicator.counts_differ()) {
    parts.push_back(counts_words(communicator));
  }
  const auto add = [&](std::string_view before, auto is, std::string_view after) {
    if (const auto members = members_that(communicator, is); !members.empty()) {
      parts.push_back(fmt::format("{}{}{}", before, list_words(communicator, members), after));
    }
  };
  add(
      "", [](const auto& one) { return !answered(one); }, " did not answer");
  if (communicator.from_service) {
    add("RAS told nothing of ", is_read, ": by NCCL's memory");
  }
  add(
      "", [](const auto& one) { return one.reported.async_error != 0; }, " reported an error");
  add(
      "", [](const auto& one) { return answered(one) && one.reported.init_state != 0; },
      " not yet initialised");
  const bool still = communicator.stood_still();
  if (parts.empty() && still && communicator.members.size() > 1) {
    parts.push_back("all launched the same");
  }
  if (parts.empty()) {
    return {};
  }
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : "; ") + part;
  }
  const std::string moved = communicator.moved ? "; counts move"
                            : still            ? fmt::format("; no count moved between two {}",
                                                  communicator.from_memory ? "looks" : "questions")
                                               : "";
  return fmt::format("communicator {}{}: {}{}", communicator.hash,
                     communicator.size > 0 ? fmt::format(" of {}", communicator.size) : "", text,
                     moved);
}

}  // namespace oddrank::aggregate
