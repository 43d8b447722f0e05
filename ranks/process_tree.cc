#include "ranks/process_tree.h"

namespace oddrank::ranks {
namespace {

// Returns whether its variables are those that a batch script gives to all that it runs: tools,
// shells, srun itself. A Python program or one with a library of collectives may be the training.
bool is_any_program(const TreeNode& node) {
  return node.identity && node.identity->outside_step && !node.facts->loaded &&
         !is_python(node.facts->arguments);
}

}  // namespace

ProcessTree::ProcessTree(const std::vector<ProcessFacts>& facts, bool single_task)
    : nodes_(facts.size()) {
  for (std::size_t i = 0; i < facts.size(); ++i) {
    nodes_[i].facts = &facts[i];
    nodes_[i].role = role_of(facts[i].arguments, facts[i].stat.name);
    nodes_[i].identity = identify_rank(facts[i].environment, single_task, facts[i].reported);
    if (is_any_program(nodes_[i])) {
      nodes_[i].identity.reset();
    }
    index_.emplace(facts[i].stat.pid, i);
  }
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const std::size_t parent = find(facts[i].stat.parent);
    if (parent == kNoProcess || parent == i ||
        facts[parent].stat.start_us > facts[i].stat.start_us) {
      continue;
    }
    nodes_[i].parent = parent;
    nodes_[parent].children.push_back(i);
  }
}

std::size_t ProcessTree::find(pid_t pid) const {
  const auto found = index_.find(pid);
  return found == index_.end() ? kNoProcess : found->second;
}

std::size_t ProcessTree::ancestor(std::size_t index,
                                  const std::function<bool(std::size_t)>& wanted) const {
  std::size_t at = nodes_[index].parent;
  // At most as many steps as there are processes: facts read while pids changed may hold a cycle.
  for (std::size_t steps = 0; at != kNoProcess && at != index && steps < nodes_.size(); ++steps) {
    if (wanted(at)) {
      return at;
    }
    at = nodes_[at].parent;
  }
  return kNoProcess;
}

bool is_orphan(const ProcessTree& tree, std::size_t index) {
  const TreeNode& node = tree[index];
  return node.parent == kNoProcess || node.facts->stat.parent <= 1 ||
         adopts_orphans(tree[node.parent].facts->stat.name);
}

}  // namespace oddrank::ranks
