#include "slurm/answers.h"

#include <algorithm>

#include "base/printable.h"

namespace oddrank::slurm {
namespace {

// More names than this help nobody.
constexpr std::size_t kNames = 4;

std::size_t count_answered(const std::vector<NodeAnswer>& nodes) {
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const NodeAnswer& node) { return node.answered; }));
}

// Says what the nodes that have not answered do, by the example of the first.
std::string doing_words(const std::vector<NodeAnswer>& nodes) {
  const NodeAnswer* first = nullptr;
  std::size_t count = 0;
  for (const NodeAnswer& node : nodes) {
    if (!node.answered && !node.doing.empty()) {
      first = first == nullptr ? &node : first;
      ++count;
    }
  }
  if (first == nullptr) {
    return {};
  }
  const std::string more = count > 1 ? " and " + count_of(count - 1, "other node") : "";
  return first->host + more + ": " + first->doing;
}

}  // namespace

std::size_t GatherResult::answered() const {
  return count_answered(nodes);
}

GatherProgress progress_of(const std::vector<NodeAnswer>& nodes) {
  GatherProgress progress{count_answered(nodes), nodes.size(), "", doing_words(nodes)};
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
