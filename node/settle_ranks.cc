#include "node/settle_ranks.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/backend_threads.h"
#include "ranks/rank_identity.h"
#include "snapshot/jobs/jobs.h"
#include "snapshot/replicas/number_replicas.h"
#include "snapshot/variable.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::ProcessCapture;
using snapshot::Tables;

using List = std::vector<std::size_t>;  // indices of processes

constexpr std::size_t kNobody = ~std::size_t{0};

bool has_default_group(const ProcessCapture& process) {
  return snapshot::default_group_of(process.groups) != nullptr;
}

// Returns the variable's text; "" if the process does not have it.
std::string_view started_with(const Capture& capture,
                              const ProcessCapture& process,
                              std::string_view name) {
  return snapshot::variable_of(capture.tables, process, name).value_or(std::string_view());
}

// Returns whether the outer process has started the inner one as a rank of another job: a launcher
// in between has given it another number, or another address.
bool is_of_inner_job(const Capture& capture,
                     const ProcessCapture& outer,
                     const ProcessCapture& inner) {
  return started_with(capture, inner, "RANK") != started_with(capture, outer, "RANK") ||
         started_with(capture, inner, "MASTER_PORT") != started_with(capture, outer, "MASTER_PORT");
}

// Returns the indices of the processes that are ranks instead of this one; empty if it is one.
List ranks_below(const Capture& capture, const ProcessCapture& outer) {
  const bool known = outer.is_rank && outer.rank >= 0 && outer.read == snapshot::ReadState::kFull &&
                     !capture.tables.text(outer.python_version).empty();
  if (!known || has_default_group(outer)) {
    return {};
  }
  List found;
  std::set<std::int32_t> numbers;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const ProcessCapture& each = capture.processes[i];
    if (each.is_rank || each.node != outer.node || each.owner != outer.pid ||
        !has_default_group(each) || !collectives::has_backend_thread(each, capture.tables) ||
        is_of_inner_job(capture, outer, each)) {
      continue;
    }
    if (!numbers.insert(each.rank).second) {
      return {};  // two of one number: which is the rank is not known
    }
    found.push_back(i);
  }
  return found;
}

// A family: a process that is no rank, and the ranks below it.
struct Family {
  std::size_t outer = kNobody;
  List ranks;
};

// Finds families whose ranks have numbers of their own in the job. If each task of a job has made a
// small group of its own, the numbers in it are not the job's.
std::vector<Family> find_families(const Capture& capture) {
  std::vector<Family> families;
  using Use = std::tuple<std::uint32_t, snapshot::StringId, snapshot::StringId, std::int32_t>;
  std::map<Use, int> uses;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const ProcessCapture& process = capture.processes[i];
    List below = ranks_below(capture, process);
    const auto use = [&](const ProcessCapture& rank) {
      ++uses[{process.node, process.job_key, process.replica, rank.rank}];
    };
    if (!below.empty()) {
      for (const std::size_t at : below) {
        use(capture.processes[at]);
      }
      families.push_back({i, std::move(below)});
    } else if (process.is_rank && process.rank >= 0) {
      use(process);
    }
  }
  std::erase_if(families, [&](const Family& family) {
    const ProcessCapture& outer = capture.processes[family.outer];
    return std::any_of(family.ranks.begin(), family.ranks.end(), [&](std::size_t at) {
      return uses[{outer.node, outer.job_key, outer.replica, capture.processes[at].rank}] > 1;
    });
  });
  return families;
}

// Returns the nearest of `ranks` above the process, going by parents within the capture; kNobody if
// it is below none of them.
std::size_t rank_above(const Capture& capture, const List& ranks, std::size_t process) {
  const std::uint32_t node = capture.processes[process].node;
  pid_t parent = capture.processes[process].parent;
  for (std::size_t steps = 0; steps < capture.processes.size(); ++steps) {
    const auto at = std::find_if(capture.processes.begin(), capture.processes.end(),
                                 [&](const ProcessCapture& each) {
                                   return each.node == node && each.pid == parent && parent > 1;
                                 });
    if (at == capture.processes.end()) {
      return kNobody;
    }
    const auto index = static_cast<std::size_t>(at - capture.processes.begin());
    if (std::find(ranks.begin(), ranks.end(), index) != ranks.end()) {
      return index;
    }
    parent = at->parent;
  }
  return kNobody;
}

// Makes the inner processes ranks. What belonged to the outer one belongs to the rank above it, or
// to the only rank.
void promote(Capture& capture, const Family& family, std::set<std::size_t>& dropped) {
  const ProcessCapture& outer = capture.processes[family.outer];
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    ProcessCapture& each = capture.processes[i];
    if (each.node != outer.node || each.owner != outer.pid || i == family.outer) {
      continue;
    }
    const bool rank = std::find(family.ranks.begin(), family.ranks.end(), i) != family.ranks.end();
    const std::size_t above = rank                       ? i
                              : family.ranks.size() == 1 ? family.ranks.front()
                                                         : rank_above(capture, family.ranks, i);
    each.is_rank = rank;
    if (above == kNobody) {
      dropped.insert(i);
    } else {
      each.owner = capture.processes[above].pid;
    }
  }
  dropped.insert(family.outer);
  if (family.ranks.size() > 1) {
    // The launcher's list is of its tasks.
    capture.nodes[outer.node].expected_ranks.clear();
  }
}

// Gives the processes of a rank its number: they may have inherited another one.
void number_children(Capture& capture) {
  std::map<std::pair<std::uint32_t, pid_t>, const ProcessCapture*> ranks;
  for (const ProcessCapture& process : capture.processes) {
    if (process.is_rank) {
      ranks.emplace(std::pair(process.node, process.pid), &process);
    }
  }
  for (ProcessCapture& process : capture.processes) {
    const auto owner = ranks.find({process.node, process.owner});
    if (!process.is_rank && owner != ranks.end()) {
      process.rank = owner->second->rank;
      process.local_rank = owner->second->local_rank;
      process.world_size = owner->second->world_size;
      process.job_key = owner->second->job_key;
      process.replica = owner->second->replica;
      process.replica_rank = owner->second->replica_rank;
    }
  }
}

// Says which ranks have another number by their variables than by their group.
void note_contradictions(Capture& capture) {
  std::map<std::uint32_t, std::pair<std::string, std::size_t>> found;
  for (const ProcessCapture& process : capture.processes) {
    if (!process.is_rank || process.rank < 0 || !has_default_group(process)) {
      continue;
    }
    std::vector<attach::Environment::Entry> entries;
    for (const auto& [name, value] : process.environment) {
      entries.emplace_back(capture.tables.text(name), capture.tables.text(value));
    }
    const auto outer = ranks::identify_rank(attach::Environment(std::move(entries)));
    ranks::RankIdentity own;
    own.rank = process.rank;
    own.world_size = process.world_size;
    if (outer && ranks::contradicts(own, *outer) && ++found[process.node].second == 1) {
      found[process.node].first = ranks::contradiction_words(
          process.pid, *outer, ranks::ReportedBy::kGroup, process.rank, process.world_size);
    }
  }
  for (const auto& [node, note] : found) {
    const std::string more = "; the same is true of " + std::to_string(note.second - 1) + " more";
    auto& notes = capture.nodes[node].notes;
    std::string text = note.first + (note.second == 1 ? "" : more);
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) {
      notes.push_back(std::move(text));
    }
  }
}

// Returns whether the main thread's stack begins where multiprocessing starts its workers.
bool begins_in_multiprocessing(const ProcessCapture& process, const Tables& tables) {
  if (process.threads.empty() || process.threads.front().samples.empty()) {
    return false;
  }
  const snapshot::ThreadSample& last = process.threads.front().samples.back();
  for (const snapshot::StackId id : {last.stack, last.python_stack}) {
    for (const snapshot::FrameId at : tables.stack(id).frames) {
      const Frame& frame = tables.frame(at);
      const std::string_view function = tables.text(frame.function);
      if (frame.kind == FrameKind::kPython &&
          tables.text(frame.file).ends_with("multiprocessing/process.py") &&
          (function == "_bootstrap" || function.ends_with("._bootstrap"))) {
        return true;
      }
    }
  }
  return false;
}

// Marks orphaned workers as children of ranks that have exited; these ranks were on this node.
void demote_survivors(Capture& capture) {
  for (ProcessCapture& process : capture.processes) {
    if (!process.is_rank || process.rank < 0 || process.parent > 1 ||
        collectives::has_backend_thread(process, capture.tables) ||
        !begins_in_multiprocessing(process, capture.tables)) {
      continue;
    }
    for (ProcessCapture& each : capture.processes) {
      each.owner = each.owner == process.pid && each.node == process.node ? -1 : each.owner;
    }
    process.is_rank = false;
    process.outlives_rank = true;
    auto& expected = capture.nodes[process.node].expected_ranks;
    const auto at = std::lower_bound(expected.begin(), expected.end(), process.rank);
    if (at == expected.end() || *at != process.rank) {
      expected.insert(at, process.rank);
    }
  }
}

}  // namespace

void settle_ranks(Capture& capture) {
  demote_survivors(capture);
  std::set<std::size_t> dropped;
  for (const Family& family : find_families(capture)) {
    promote(capture, family, dropped);
  }
  std::vector<ProcessCapture> kept;
  kept.reserve(capture.processes.size());
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    if (!dropped.contains(i)) {
      kept.push_back(std::move(capture.processes[i]));
    }
  }
  capture.processes = std::move(kept);
  number_children(capture);
  note_contradictions(capture);
}

void settle_job(Capture& capture) {
  snapshot::number_replicas(capture);
  capture.job.world_size = snapshot::world_size_of(capture);
  capture.job.hosts = {capture.nodes.front().host};
}

}  // namespace oddrank::node
