#include "ranks/jobs/job_split.h"

#include <algorithm>
#include <set>
#include <string>

#include "snapshot/jobs/jobs.h"

namespace oddrank::ranks {
namespace {

using Jobs = std::set<std::string>;

// Returns the addresses of the candidates of one rank. A process that has not told its own address,
// such as a program that the rank has left behind, has the rank's variables: these do not count as
// another address.
std::set<std::string> addresses_of(const ProcessTree& tree, const std::vector<std::size_t>& group) {
  std::set<std::string> of_variables;
  for (const std::size_t i : group) {
    if (tree[i].facts->reported.has_rank()) {
      of_variables.insert(rendezvous_of(tree[i].facts->environment));
    }
  }
  std::set<std::string> addresses;
  for (const std::size_t i : group) {
    const std::string& address = tree[i].identity->rendezvous;
    if (tree[i].facts->reported.has_rank() || !of_variables.contains(address)) {
      addresses.insert(address);
    }
  }
  return addresses;
}

void split_addresses(ProcessTree& tree, const std::vector<std::size_t>& candidates) {
  Jobs split;
  for (const auto& [key, group] : by_rank(tree, candidates)) {
    const std::set<std::string> addresses = addresses_of(tree, group);
    if (addresses.size() > 1 && addresses.count("") == 0) {
      split.insert(key.first);
    }
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    auto& identity = tree[i].identity;
    if (identity && split.count(identity->job) != 0 && !identity->rendezvous.empty()) {
      identity->job += " " + identity->rendezvous;
    }
  }
}

// Returns whether the process proves that its network has ranks. A helper in its own network, such
// as a sandbox for untrusted code, has its rank's variables, too; if it has lost its parent, it
// looks like a rank.
bool is_proof(const ProcessTree& tree, std::size_t index) {
  const TreeNode& node = tree[index];
  return node.facts->network != 0 && (node.facts->reported.has_rank() || !is_orphan(tree, index));
}

Jobs jobs_in_networks(const ProcessTree& tree, const std::vector<std::size_t>& candidates) {
  Jobs split;
  std::map<std::string, std::set<std::uint64_t>> at_own_address;  // job -> networks
  for (const auto& [key, group] : by_rank(tree, candidates)) {
    std::set<std::uint64_t> networks;
    for (const std::size_t i : group) {
      if (!is_proof(tree, i)) {
        continue;
      }
      networks.insert(tree[i].facts->network);
      if (is_own_address(tree[i].identity->rendezvous)) {
        at_own_address[key.first].insert(tree[i].facts->network);
      }
    }
    if (networks.size() > 1) {
      split.insert(key.first);
    }
  }
  for (const auto& [job, networks] : at_own_address) {
    if (networks.size() > 1) {
      split.insert(job);
    }
  }
  return split;
}

void split_networks(ProcessTree& tree, const std::vector<std::size_t>& candidates) {
  const Jobs split = jobs_in_networks(tree, candidates);
  if (split.empty()) {
    return;
  }
  const std::vector<std::size_t> heads = heads_of(tree, candidates);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    // A process that a rank has started belongs to the rank's job, wherever it runs.
    const std::uint64_t network = tree[heads[i] == kNoProcess ? i : heads[i]].facts->network;
    auto& identity = tree[i].identity;
    if (identity && network != 0 && split.contains(identity->job)) {
      identity->job += " in network " + std::to_string(network);
    }
  }
}

}  // namespace

std::map<JobRank, std::vector<std::size_t>> by_rank(const ProcessTree& tree,
                                                    const std::vector<std::size_t>& candidates) {
  std::map<JobRank, std::vector<std::size_t>> groups;
  for (const std::size_t i : candidates) {
    groups[JobRank(tree[i].identity->job, tree[i].identity->rank)].push_back(i);
  }
  return groups;
}

std::vector<std::size_t> heads_of(const ProcessTree& tree,
                                  const std::vector<std::size_t>& candidates) {
  const std::set<std::size_t> all(candidates.begin(), candidates.end());
  std::vector<std::size_t> heads(tree.size(), kNoProcess);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    heads[i] = all.contains(i)
                   ? i
                   : tree.ancestor(i, [&all](std::size_t above) { return all.contains(above); });
  }
  return heads;
}

void split_users(ProcessTree& tree, uid_t user, const std::vector<std::size_t>& candidates) {
  const std::vector<std::size_t> heads = heads_of(tree, candidates);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const uid_t own = tree[heads[i] == kNoProcess ? i : heads[i]].facts->user;
    if (tree[i].identity && own != user) {
      tree[i].identity->job += std::string(snapshot::kOfUser) + std::to_string(own);
    }
  }
}

void split_jobs(ProcessTree& tree, const std::vector<std::size_t>& candidates) {
  split_addresses(tree, candidates);
  split_networks(tree, candidates);
}

}  // namespace oddrank::ranks
