#include "node/collect/collect_nccl_memory.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/live_target.h"
#include "base/isolated.h"
#include "collectives/nccl/nccl_proxies.h"
#include "collectives/nccl/nccl_root.h"
#include "node/collect/collect_ras.h"
#include "node/collect/read_communicators.h"
#include "node/isolated_read.h"
#include "snapshot/carrier.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::RasCommunicator;
using snapshot::RasPresence;
using snapshot::RasRank;
using std::chrono::milliseconds;

// Reading takes milliseconds, but may never end for a process in state D.
constexpr milliseconds kMemoryPatience{2000};

// Returns whether the service itself described the process. A text answer (which has one hash for a
// communicator) does not list every rank: a rank that it does not report missing has answered.
bool is_reported_by_ras(const Capture& capture, const ProcessCapture& process) {
  bool in_words = false;
  for (const RasCommunicator& communicator : capture.collectives.ras) {
    for (const RasRank& rank : communicator.ranks) {
      if (rank.pid == process.pid) {
        return rank.presence == RasPresence::kAnswered;
      }
    }
    in_words =
        in_words || capture.tables.text(communicator.hash).find(' ') == std::string_view::npos;
  }
  return in_words;
}

bool was_read(const Capture& capture, const ProcessCapture& process) {
  const auto& all = capture.collectives.ras;
  return std::any_of(all.begin(), all.end(), [&process](const RasCommunicator& communicator) {
    const auto& ranks = communicator.ranks;
    return std::any_of(ranks.begin(), ranks.end(), [&process](const RasRank& rank) {
      return rank.pid == process.pid && rank.presence == RasPresence::kMemory;
    });
  });
}

void add(const collectives::RasAnswer& read, pid_t pid, Capture& answer) {
  for (const collectives::RasGroup& group : read.groups) {
    RasCommunicator& communicator =
        answer.collectives.ras.emplace_back(communicator_row(read, group, answer.tables));
    for (const collectives::RasMember& member : group.members) {
      communicator.ranks.push_back(member_row(member));
      communicator.ranks.back().pid = pid;
    }
  }
}

// A rank to be read.
struct Wanted {
  pid_t pid = 0;
  bool communicators = false;         // RAS did not report them
  std::vector<pid_t> accepting = {};  // threads that may be bootstrap roots
};

void note(const Error& error, Capture& answer) {
  if (error.code == Errc::kUnsupported || error.code == Errc::kBadData) {
    answer.nodes.front().notes.push_back("NCCL memory: " + error.what);
  }
}

// Reads one rank, in the child. If a process cannot be read at all, its own reader says why.
Capture read_rank(const Wanted& wanted) {
  Capture answer;
  answer.nodes.emplace_back();
  const auto target = attach::LiveTarget::open(wanted.pid);
  if (!target) {
    return answer;
  }
  const auto variables = find_nccl_variables(**target);
  if (!variables) {
    note(variables.error(), answer);
    return answer;
  }
  if (wanted.communicators) {
    if (const auto read = read_communicators(**target, *variables)) {
      add(*read, wanted.pid, answer);
    } else {
      note(read.error(), answer);
    }
  }
  const auto proxies = collectives::read_nccl_proxies(**target, *variables, answer.tables);
  ProcessCapture& process = answer.processes.emplace_back();
  process.pid = wanted.pid;
  if (proxies) {
    process.proxies = {proxies->transfers.begin(), proxies->transfers.end()};
    process.heads = {proxies->heads.begin(), proxies->heads.end()};
  }
  const auto roots =
      collectives::read_nccl_roots(**target, *variables, wanted.accepting, answer.tables);
  process.roots = {roots.begin(), roots.end()};
  return answer;
}

// Returns what was read of these ranks, in one capture whose notes differ from each other.
Capture read_ranks(const std::vector<Wanted>& ranks, milliseconds timeout) {
  std::vector<IsolatedTask> tasks;
  tasks.reserve(ranks.size());
  const milliseconds patience = std::min(timeout, kMemoryPatience);
  for (const Wanted& rank : ranks) {
    tasks.push_back({[rank](int fd) { send_capture(fd, read_rank(rank)); },
                     patience,
                     {},
                     reading_owner(rank.pid)});
  }
  Capture all;
  auto& notes = all.nodes.emplace_back().notes;
  const std::vector<IsolatedResult> results =
      run_isolated(tasks, readers_at_once(), kMaxOutput, timeout);
  note_no_time(results, "NCCL's memory", notes);
  for (const IsolatedResult& result : results) {
    const auto answer = received_capture(result);
    if (!answer) {
      continue;
    }
    carry_communicators(*answer, all);
    snapshot::Carrier carrier(answer->tables, all.tables);
    for (const ProcessCapture& process : answer->processes) {
      all.processes.push_back(carrier.row(process));
    }
    for (const std::string& note : answer->nodes.front().notes) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
        notes.push_back(note);
      }
    }
  }
  return all;
}

// Returns the native threads of the process that wait in accept(), as NCCL's bootstrap roots do:
// the first few.
std::vector<pid_t> accepting_threads(const Capture& capture, const ProcessCapture& process) {
  constexpr std::size_t kMaxAccepting = 16;
  std::vector<pid_t> found;
  for (const snapshot::ThreadCapture& thread : process.threads) {
    if (process.is_rank && found.size() < kMaxAccepting && !thread.has_python &&
        capture.tables.text(thread.wait.syscall_name) == "accept") {
      found.push_back(thread.tid);
    }
  }
  return found;
}

// Calls take(process of the capture, what was read of it) where something was.
template <typename Take>
void each_read(const Capture& read, Capture& capture, const Take& take) {
  snapshot::Carrier carrier(read.tables, capture.tables);
  for (const ProcessCapture& found : read.processes) {
    for (ProcessCapture& process : capture.processes) {
      if (process.pid == found.pid) {
        take(process, carrier.row(found));
      }
    }
  }
}

// Fills in the later counts of a rank; `again` is a rank of the communicator with that hash.
void add_later_counts(Capture& capture, snapshot::StringId hash, const RasRank& again) {
  for (RasCommunicator& communicator : capture.collectives.ras) {
    if (communicator.hash != hash) {
      continue;
    }
    for (RasRank& rank : communicator.ranks) {
      if (rank.presence == RasPresence::kMemory && rank.pid == again.pid &&
          rank.rank == again.rank) {
        rank.later = again.counts;
      }
    }
  }
}

}  // namespace

void collect_nccl_memory(Capture& capture, milliseconds timeout) {
  std::vector<Wanted> wanted;
  for (const ProcessCapture& process : capture.processes) {
    if (process.is_rank && process.rank >= 0 && process.state != 'Z') {
      wanted.push_back({process.pid, !is_reported_by_ras(capture, process)});
    }
  }
  const Capture read = read_ranks(wanted, timeout);
  carry_communicators(read, capture);
  each_read(read, capture, [](ProcessCapture& process, ProcessCapture found) {
    process.proxies = std::move(found.proxies);
    process.heads = std::move(found.heads);
  });
  auto& notes = capture.nodes.front().notes;
  const auto& found = read.nodes.front().notes;
  notes.insert(notes.end(), found.begin(), found.end());
}

void collect_nccl_memory_again(Capture& capture, milliseconds timeout) {
  std::vector<Wanted> wanted;
  for (ProcessCapture& process : capture.processes) {
    const bool communicators = was_read(capture, process);
    std::vector<pid_t> accepting = accepting_threads(capture, process);
    const bool any = !process.proxies.empty() || !process.heads.empty();
    if (communicators || any || !accepting.empty()) {
      wanted.push_back({process.pid, communicators, std::move(accepting)});
    }
    collectives::compare_proxies({}, process.proxies);
    collectives::compare_heads({}, process.heads);
  }
  const Capture read = read_ranks(wanted, timeout);
  snapshot::Carrier carrier(read.tables, capture.tables);
  for (const RasCommunicator& later : read.collectives.ras) {
    const RasCommunicator carried = carrier.row(later);
    for (const RasRank& again : carried.ranks) {
      add_later_counts(capture, carried.hash, again);
    }
  }
  each_read(read, capture, [](ProcessCapture& process, ProcessCapture later) {
    collectives::compare_proxies(later.proxies, process.proxies);
    collectives::compare_heads(later.heads, process.heads);
    process.roots = std::move(later.roots);
  });
}

}  // namespace oddrank::node
