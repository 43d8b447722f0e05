#include "snapshot/merge.h"

#include <algorithm>
#include <utility>

namespace oddrank::snapshot {
namespace {

void merge_job(JobInfo& into, const JobInfo& from) {
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
  for (const std::string& host : from.hosts) {
    if (std::find(into.hosts.begin(), into.hosts.end(), host) == into.hosts.end()) {
      into.hosts.push_back(host);
    }
  }
}

bool is_better(const ProcessCapture& candidate, const ProcessCapture& kept) {
  if (candidate.read != kept.read) {
    return candidate.read > kept.read;
  }
  return candidate.read_us > kept.read_us;
}

}  // namespace

Merger::Merger(Capture& into) : into_(into) {
  for (std::uint32_t i = 0; i < into.nodes.size(); ++i) {
    nodes_.emplace(into.nodes[i].host, i);
  }
  for (std::size_t i = 0; i < into.processes.size(); ++i) {
    const ProcessCapture& process = into.processes[i];
    processes_.emplace(ProcessKey{process.node, process.pid, process.start_us}, i);
  }
}

// Index in `into_.nodes` for each of `nodes`.
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

// Rows of a node that was there before may be there as well: then they are compared.
void Merger::add_collectives(const CollectiveState& from,
                             const std::vector<std::uint32_t>& nodes,
                             std::size_t known_nodes,
                             Carrier& carrier) {
  const auto add = [&](const auto& rows, auto& into, auto carry) {
    for (const auto& row : rows) {
      if (row.node >= nodes.size()) {
        continue;  // as above
      }
      auto carried = (carrier.*carry)(row);
      carried.node = nodes[row.node];
      const bool twice =
          carried.node < known_nodes && std::find(into.begin(), into.end(), carried) != into.end();
      if (!twice) {
        into.push_back(std::move(carried));
      }
    }
  };
  CollectiveState& into = into_.collectives;
  add(from.flight, into.flight, &Carrier::flight_record);
  add(from.ras, into.ras, &Carrier::communicator);
  add(from.log, into.log, &Carrier::log_line);
  add(from.devices, into.devices, &Carrier::device);
  add(from.ports, into.ports, &Carrier::port);
}

void Merger::add(const Capture& from) {
  merge_job(into_.job, from.job);
  const std::size_t known_nodes = into_.nodes.size();
  const std::vector<std::uint32_t> nodes = add_nodes(from.nodes);
  Carrier carrier(from.tables, into_.tables);
  for (const ProcessCapture& process : from.processes) {
    if (process.node >= nodes.size()) {
      continue;  // a damaged capture; its decoder refuses such a one
    }
    ProcessCapture carried = carrier.process(process);
    carried.node = nodes[process.node];
    const ProcessKey key{carried.node, carried.pid, carried.start_us};
    const auto [at, fresh] = processes_.emplace(key, into_.processes.size());
    if (fresh) {
      into_.processes.push_back(std::move(carried));
    } else if (is_better(carried, into_.processes[at->second])) {
      into_.processes[at->second] = std::move(carried);
    }
  }
  add_collectives(from.collectives, nodes, known_nodes, carrier);
}

}  // namespace oddrank::snapshot
