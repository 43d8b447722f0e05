#include "reach/wire/answers.h"

#include <algorithm>
#include <utility>

namespace oddrank::reach {
namespace {

// More names than this do not help.
constexpr std::size_t kShownNodes = 3;

std::size_t count_answered(const std::vector<NodeAnswer>& nodes) {
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const NodeAnswer& node) { return node.answered; }));
}

// Returns the activity of one node that has not answered; the same node in each call until it
// answers.
std::string doing_of_any(const std::vector<NodeAnswer>& nodes) {
  std::string doing;
  for (const NodeAnswer& node : nodes) {
    if (!node.answered) {
      doing = std::max(doing, node.doing);
    }
  }
  return doing;
}

std::string stage_words(const NodeAnswer& node) {
  if (!node.doing.empty()) {
    return node.host + " (" + node.doing + ")";
  }
  return node.host + (node.heard ? " (reading)" : " (not started)");
}

// Returns the nodes that are waited for, the slowest first.
std::vector<const NodeAnswer*> silent_nodes(const std::vector<NodeAnswer>& nodes) {
  const auto heard = static_cast<std::size_t>(std::ranges::count_if(
      nodes, [](const NodeAnswer& node) { return node.answered || node.heard; }));
  const bool any_answered = count_answered(nodes) > 0;
  std::vector<const NodeAnswer*> silent;
  for (const NodeAnswer& node : nodes) {
    if (!node.answered && (any_answered || (!node.heard && 2 * heard >= nodes.size()))) {
      silent.push_back(&node);
    }
  }
  std::ranges::stable_sort(silent, {}, [](const NodeAnswer* node) {
    return node->heard ? 1 + static_cast<int>(!node->doing.empty()) : 0;
  });
  return silent;
}

}  // namespace

bool NodeAnswer::take(Payload sent, std::chrono::milliseconds when) {
  if (answered) {
    return false;
  }
  answered = !sent.draft;
  payload = std::move(sent.bytes);
  after = when;
  return answered;
}

GatherResult::GatherResult(const std::vector<std::string>& hosts) : nodes(hosts.size()) {
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    nodes[i].host = hosts[i];
  }
}

std::chrono::milliseconds AgentOptions::limit_of(const NodeAnswer& node) const {
  return node_timeout + (node.doing.empty() ? std::chrono::milliseconds(0) : longest_delay);
}

std::size_t GatherResult::answered() const {
  return count_answered(nodes);
}

GatherProgress progress_of(const std::vector<NodeAnswer>& nodes) {
  GatherProgress progress{count_answered(nodes), nodes.size(), "", doing_of_any(nodes)};
  const std::vector<const NodeAnswer*> silent = silent_nodes(nodes);
  for (std::size_t i = 0; i < std::min(silent.size(), kShownNodes); ++i) {
    progress.waiting_for += (i == 0 ? "" : ", ") + stage_words(*silent[i]);
  }
  if (silent.size() > kShownNodes) {
    progress.waiting_for += " and " + std::to_string(silent.size() - kShownNodes) + " more";
  }
  return progress;
}

}  // namespace oddrank::reach
