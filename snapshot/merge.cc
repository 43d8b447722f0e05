#include "snapshot/merge.h"

#include <algorithm>
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

}  // namespace

Merger::Merger(Capture& into) : into_(into), hosts_(into.job.hosts.begin(), into.job.hosts.end()) {
  for (std::uint32_t i = 0; i < into.nodes.size(); ++i) {
    nodes_.emplace(into.nodes[i].host, i);
  }
  for (std::size_t i = 0; i < into.processes.size(); ++i) {
    const ProcessCapture& process = into.processes[i];
    processes_.emplace(ProcessKey{process.node, process.pid, process.start_us}, i);
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
}

void Merger::add(const Capture& from) {
  const CaptureRows& rows = from;
  add_rows(Carrier(from.tables, into_.tables).rows(rows));
}

void Merger::add(Capture&& from) {
  add_rows(Carrier(from.tables, into_.tables).rows(static_cast<CaptureRows&&>(from)));
}

void Merger::add_rows(CaptureRows rows) {
  add_job(rows.job);
  const std::size_t known_nodes = into_.nodes.size();
  const std::vector<std::uint32_t> nodes = add_nodes(rows.nodes);
  for (ProcessCapture& process : rows.processes) {
    if (process.node >= nodes.size()) {
      continue;  // a damaged capture; its decoder refuses these
    }
    process.node = nodes[process.node];
    const ProcessKey key{process.node, process.pid, process.start_us};
    const auto [at, fresh] = processes_.emplace(key, into_.processes.size());
    if (fresh) {
      into_.processes.push_back(std::move(process));
    } else if (is_better(process, into_.processes[at->second])) {
      into_.processes[at->second] = std::move(process);
    }
  }
  add_collectives(std::move(rows.collectives), nodes, known_nodes);
}

}  // namespace oddrank::snapshot
