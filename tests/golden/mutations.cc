#include "tests/golden/mutations.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "snapshot/carrier.h"
#include "snapshot/rank_text.h"

namespace oddrank::tests {

using snapshot::Capture;
using snapshot::Carrier;
using snapshot::ProcessCapture;

namespace {

template <typename Index>
std::vector<Index> shuffled_order(std::size_t size, std::mt19937& random) {
  std::vector<Index> order(size);
  std::iota(order.begin(), order.end(), Index{0});
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace

Capture copy_of(const Capture& from) {
  Capture to;
  to.job = from.job;
  to.nodes = from.nodes;
  Carrier carrier(from.tables, to.tables);
  for (const ProcessCapture& process : from.processes) {
    to.processes.push_back(carrier.process(process));
  }
  return to;
}

Capture shuffled(const Capture& from, unsigned seed) {
  std::mt19937 random(seed);
  const auto place = shuffled_order<std::uint32_t>(from.nodes.size(), random);
  const auto order = shuffled_order<std::size_t>(from.processes.size(), random);
  Capture to;
  to.job = from.job;
  to.nodes.resize(from.nodes.size());
  for (std::size_t at = 0; at < place.size(); ++at) {
    to.nodes[place[at]] = from.nodes[at];
  }
  Carrier carrier(from.tables, to.tables);
  for (const std::size_t at : order) {
    to.processes.push_back(carrier.process(from.processes[at]));
    to.processes.back().node = place[from.processes[at].node];
  }
  return to;
}

Capture renumbered(const Capture& from, const std::vector<std::int32_t>& numbers) {
  const auto rename = [&numbers](std::int32_t& rank) {
    if (rank >= 0 && static_cast<std::size_t>(rank) < numbers.size()) {
      rank = numbers[static_cast<std::size_t>(rank)];
    }
  };
  Capture to = copy_of(from);
  for (snapshot::NodeCapture& node : to.nodes) {
    std::for_each(node.expected_ranks.begin(), node.expected_ranks.end(), rename);
  }
  for (ProcessCapture& process : to.processes) {
    rename(process.rank);
    for (snapshot::ThreadCapture& thread : process.threads) {
      if (!thread.call) {
        continue;
      }
      rename(thread.call->peer);
      rename(thread.call->root);
      auto members = snapshot::ranks_of(to.tables.text(thread.call->members));
      std::for_each(members.begin(), members.end(), rename);
      std::sort(members.begin(), members.end());
      thread.call->members = to.tables.string(snapshot::rank_text(members));
    }
  }
  return to;
}

std::vector<Capture> parts_of(const Capture& whole) {
  std::vector<Capture> parts;
  for (std::uint32_t node = 0; node < whole.nodes.size(); ++node) {
    Capture part;
    part.job = whole.job;
    part.nodes = {whole.nodes[node]};
    Carrier carrier(whole.tables, part.tables);
    for (const ProcessCapture& process : whole.processes) {
      if (process.node == node) {
        part.processes.push_back(carrier.process(process));
        part.processes.back().node = 0;
      }
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Capture once(const Capture& from) {
  Capture to = copy_of(from);
  for (ProcessCapture& process : to.processes) {
    for (snapshot::ThreadCapture& thread : process.threads) {
      if (!thread.samples.empty()) {
        thread.samples = {thread.samples.back()};
      }
    }
  }
  return to;
}

}  // namespace oddrank::tests
