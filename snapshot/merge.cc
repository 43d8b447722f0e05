#include "snapshot/merge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "snapshot/carrier.h"

namespace oddrank::snapshot {
namespace {

// Merges all facts except the hosts.
void merge_facts(JobInfo& into, const JobInfo& from) {
  if (into.id.empty() && !from.id.empty()) {
    into.id = from.id;
    into.source = from.source;
  }
  if (into.id.empty() && from.source == JobSource::kCore) {
    into.source = from.source;
  }
  for (auto field : {&JobInfo::name, &JobInfo::user, &JobInfo::state, &JobInfo::output_path}) {
    if ((into.*field).empty()) {
      into.*field = from.*field;
    }
  }
  into.world_size = std::max(into.world_size, from.world_size);
  if (into.elapsed_s < 0) {
    into.elapsed_s = from.elapsed_s;
  }
  if (into.time_left_s < 0) {
    into.time_left_s = from.time_left_s;
  }
}

bool is_better(const ProcessCapture& candidate, const ProcessCapture& kept) {
  if (candidate.read != kept.read) {
    return candidate.read > kept.read;
  }
  return candidate.read_us > kept.read_us;
}

ProcessKey key_of(const ProcessCapture& process) {
  return {process.node, process.pid, process.start_us};
}

bool are_distinct(const std::vector<ProcessCapture>& processes) {
  std::vector<ProcessKey> keys;
  keys.reserve(processes.size());
  std::ranges::transform(processes, std::back_inserter(keys), key_of);
  std::ranges::sort(keys);
  return std::ranges::adjacent_find(keys) == keys.end();
}

}  // namespace

Merger::Merger(Capture& into) : into_(into), hosts_(into.job.hosts.begin(), into.job.hosts.end()) {
  for (std::uint32_t i = 0; i < into.nodes.size(); ++i) {
    nodes_.emplace(into.nodes[i].host, i);
  }
}

void Merger::add_job(const JobInfo& job) {
  merge_facts(into_.job, job);
  for (const std::string& host : job.hosts) {
    if (hosts_.insert(host).second) {
      into_.job.hosts.push_back(host);
    }
  }
  auto& notes = into_.job.notes;
  for (const std::string& note : job.notes) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(note);
    }
  }
}

// Returns the index in `into_.nodes` of each of `nodes`.
std::vector<std::uint32_t> Merger::add_nodes(const std::vector<NodeCapture>& nodes) {
  std::vector<std::uint32_t> index;
  for (const NodeCapture& node : nodes) {
    const auto [at, fresh] =
        nodes_.emplace(node.host, static_cast<std::uint32_t>(into_.nodes.size()));
    if (fresh) {
      into_.nodes.push_back(node);
    } else if (node.answered && !into_.nodes[at->second].answered) {
      into_.nodes[at->second] = node;
    }
    index.push_back(at->second);
  }
  return index;
}

// If a node was already there, its rows may be too: then they are compared.
void Merger::add_collectives(CollectiveState rows,
                             const std::vector<std::uint32_t>& nodes,
                             std::size_t known_nodes) {
  const auto add = [&](auto& from, auto& into) {
    for (auto& row : from) {
      if (row.node >= nodes.size()) {
        continue;  // as below
      }
      row.node = nodes[row.node];
      const bool twice =
          row.node < known_nodes && std::find(into.begin(), into.end(), row) != into.end();
      if (!twice) {
        into.push_back(std::move(row));
      }
    }
  };
  CollectiveState& into = into_.collectives;
  add(rows.flight, into.flight);
  add(rows.ras, into.ras);
  add(rows.log, into.log);
  add(rows.devices, into.devices);
  add(rows.ports, into.ports);
  add(rows.requests, into.requests);
}

void Merger::add(const Capture& from) {
  const CaptureRows& rows = from;
  add_rows(Carrier(from.tables, into_.tables).row(rows));
}

void Merger::add(Capture&& from) {
  add_rows(Carrier(from.tables, into_.tables).row(static_cast<CaptureRows&&>(from)));
}

void Merger::index_processes() {
  for (; indexed_ < into_.processes.size(); ++indexed_) {
    processes_.emplace(key_of(into_.processes[indexed_]), indexed_);
  }
}

// Most parts of a large job are a node of their own, so that none of their processes can be there
// already: an index is made only if it is needed.
void Merger::add_processes(std::vector<ProcessCapture> processes, std::size_t known_nodes) {
  const bool fresh = std::ranges::all_of(
      processes, [known_nodes](const auto& process) { return process.node >= known_nodes; });
  if (fresh && are_distinct(processes)) {
    std::ranges::move(processes, std::back_inserter(into_.processes));
    return;
  }
  index_processes();
  for (ProcessCapture& process : processes) {
    const auto [at, is_new] = processes_.emplace(key_of(process), into_.processes.size());
    if (is_new) {
      into_.processes.push_back(std::move(process));
    } else if (is_better(process, into_.processes[at->second])) {
      into_.processes[at->second] = std::move(process);
    }
  }
  indexed_ = into_.processes.size();
}

void Merger::add_rows(CaptureRows rows) {
  add_job(rows.job);
  const std::size_t known_nodes = into_.nodes.size();
  const std::vector<std::uint32_t> nodes = add_nodes(rows.nodes);
  // None are in a capture that was decoded: its decoder refuses these.
  std::erase_if(rows.processes,
                [&nodes](const auto& process) { return process.node >= nodes.size(); });
  for (ProcessCapture& process : rows.processes) {
    process.node = nodes[process.node];
  }
  add_processes(std::move(rows.processes), known_nodes);
  add_collectives(std::move(rows.collectives), nodes, known_nodes);
}

}  // namespace oddrank::snapshot
