#include "slurm/answers.h"

#include <algorithm>

namespace oddrank::slurm {
namespace {

// More names than this do not help.
constexpr std::size_t kNames = 4;

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

}  // namespace

std::size_t GatherResult::answered() const {
  return count_answered(nodes);
}

GatherProgress progress_of(const std::vector<NodeAnswer>& nodes) {
  GatherProgress progress{count_answered(nodes), nodes.size(), "", doing_of_any(nodes)};
  const std::size_t silent = progress.total - progress.done;
  if (progress.done == 0 || silent > kNames) {
    return progress;
  }
  for (const NodeAnswer& node : nodes) {
    if (!node.answered) {
      progress.waiting_for += (progress.waiting_for.empty() ? "" : ", ") + node.host;
    }
  }
  return progress;
}

}  // namespace oddrank::slurm
