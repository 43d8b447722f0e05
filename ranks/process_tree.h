// The processes of a node as a tree, with the role of each. A parent younger than its child is
// ignored (its pid was reused), and every walk is bounded.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ranks/process_facts.h"
#include "ranks/process_role.h"
#include "ranks/rank_identity.h"

namespace oddrank::ranks {

inline constexpr std::size_t kNoProcess = ~std::size_t{0};

struct TreeNode {
  const ProcessFacts* facts = nullptr;
  std::size_t parent = kNoProcess;
  std::vector<std::size_t> children;
  ProcessRole role = ProcessRole::kProgram;
  std::optional<RankIdentity> identity;
};

class ProcessTree {
 public:
  // The facts must outlive the tree. `single_task`: see identify_rank.
  ProcessTree(const std::vector<ProcessFacts>& facts, bool single_task);

  std::size_t size() const { return nodes_.size(); }
  TreeNode& operator[](std::size_t index) { return nodes_[index]; }
  const TreeNode& operator[](std::size_t index) const { return nodes_[index]; }
  // Returns kNoProcess if there is none.
  std::size_t find(pid_t pid) const;
  // Returns the nearest proper ancestor for which `wanted` holds, or kNoProcess.
  std::size_t ancestor(std::size_t index, const std::function<bool(std::size_t)>& wanted) const;

 private:
  std::vector<TreeNode> nodes_;
  std::unordered_map<pid_t, std::size_t> index_;
};

// Returns whether the process's parent is gone.
bool is_orphan(const ProcessTree& tree, std::size_t index);

}  // namespace oddrank::ranks
