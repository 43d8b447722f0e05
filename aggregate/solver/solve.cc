#include "aggregate/solver/solve.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <queue>
#include <span>

namespace oddrank::aggregate {

namespace {

constexpr CauseId kNoCause = std::numeric_limits<CauseId>::max();

enum class Run : std::uint8_t { kOptimistic, kPessimistic };

class Solver {
 public:
  explicit Solver(const WaitNet& net);
  Solution run();

 private:
  using Nodes = std::span<const std::uint32_t>;  // of one component, ascending

  bool is_circular(Nodes nodes) const;
  // Returns the nodes of a component that still stand if all others go on.
  std::vector<bool> standing(Nodes nodes, Run run);
  CauseId cause_of(std::uint32_t node);
  CauseId add_circle(Nodes nodes, const std::vector<bool>& standing, bool certain);
  CauseSetId sure_of(std::uint32_t node);
  CauseSetId may_of(std::uint32_t node);
  bool is_unclear(std::uint32_t node) const;
  void solve_single(std::uint32_t node);
  void solve_circular(Nodes nodes);
  void settle(Nodes nodes);
  void find_rivals();

  const WaitNet& net_;
  std::vector<std::size_t> component_;
  Adjacency in_;  // made for the first circle
  Solution result_;
  std::vector<CauseId> cause_of_;  // by node that is an owner
  // By node, for `standing`: how many of its targets stand.
  std::vector<std::uint32_t> stands_;
  std::vector<bool> marked_;
  std::vector<std::uint32_t> released_;  // by the last run, in this order
  std::vector<bool> fixed_;              // for `settle`
  std::vector<CauseSetId> parts_;        // of a union
};

Solver::Solver(const WaitNet& net)
    : net_(net), component_(components_of(net.out)), cause_of_(net.nodes.size(), kNoCause) {
  result_.sure.assign(net.nodes.size(), CauseSets::kEvery);
  result_.may.assign(net.nodes.size(), CauseSets::kNone);
  result_.unclear.assign(net.nodes.size(), false);
}

Solution Solver::run() {
  const auto last = std::ranges::max_element(component_);
  std::vector<std::uint32_t> ends(last == component_.end() ? 0 : *last + 1, 0);
  for (const std::size_t component : component_) {
    ++ends[component];
  }
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), 0U);
  std::vector<std::uint32_t> order(component_.size());
  for (std::uint32_t node = 0; node < order.size(); ++node) {
    order[ends[component_[node]]++] = node;
  }
  std::uint32_t begin = 0;
  for (const std::uint32_t end : ends) {  // what is waited for comes first
    const Nodes nodes(order.data() + begin, end - begin);
    begin = end;
    if (is_circular(nodes)) {
      solve_circular(nodes);
    } else {
      solve_single(nodes.front());
    }
  }
  find_rivals();
  return std::move(result_);
}

bool Solver::is_circular(Nodes nodes) const {
  const auto& targets = net_.out[nodes.front()];
  return nodes.size() > 1 || std::ranges::find(targets, nodes.front()) != targets.end();
}

CauseId Solver::cause_of(std::uint32_t node) {
  const WaitNet::Node& it = net_.nodes[node];
  CauseId& cause = cause_of_[it.owner];
  if (cause == kNoCause) {
    cause = static_cast<CauseId>(result_.causes.size());
    result_.causes.push_back({{it.owner}, false, true, it.unknown, Rivals::kNone});
  }
  // If an owner has several ends, the one that is best known counts.
  result_.causes[cause].unknown = std::min(result_.causes[cause].unknown, it.unknown);
  return cause;
}

std::vector<bool> Solver::standing(Nodes nodes, Run run) {
  if (in_.empty()) {
    in_ = reversed(net_.out);
    stands_.resize(net_.nodes.size());
    marked_.resize(net_.nodes.size());
    fixed_.resize(net_.nodes.size());
  }
  released_.clear();
  const auto release = [&](std::uint32_t node) {
    if (marked_[node]) {
      marked_[node] = false;
      released_.push_back(node);
    }
  };
  const auto goes_on_with_one = [&](const WaitNet::Node& node) {
    return node.join == Join::kAny || (node.join == Join::kOneOf && run == Run::kOptimistic);
  };
  for (const std::uint32_t node : nodes) {
    marked_[node] = true;
    const auto& targets = net_.out[node];
    stands_[node] = static_cast<std::uint32_t>(std::ranges::count_if(
        targets, [&](std::uint32_t to) { return component_[to] == component_[node]; }));
  }
  for (const std::uint32_t node : nodes) {
    const WaitNet::Node& it = net_.nodes[node];
    const bool known = it.unknown == Unknown::kNobody || run == Run::kPessimistic;
    const bool way_out = stands_[node] < net_.out[node].size() || !known;
    const bool doubtful = run == Run::kOptimistic && (it.loose || !known);
    if (stands_[node] == 0 || doubtful || (goes_on_with_one(it) && way_out)) {
      release(node);
    }
  }
  std::size_t next = 0;
  while (next < released_.size()) {
    const std::uint32_t node = released_[next++];
    for (const std::uint32_t from : in_[node]) {
      if (component_[from] == component_[node] && marked_[from] &&
          (--stands_[from] == 0 || goes_on_with_one(net_.nodes[from]))) {
        release(from);
      }
    }
  }
  std::vector<bool> result;
  for (const std::uint32_t node : nodes) {
    result.push_back(marked_[node]);
    marked_[node] = false;
  }
  return result;
}

CauseId Solver::add_circle(Nodes nodes, const std::vector<bool>& standing, bool certain) {
  Cause cause;
  cause.circle = true;
  cause.certain = certain;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (standing[i]) {
      cause.nodes.push_back(nodes[i]);
    }
  }
  result_.causes.push_back(std::move(cause));
  return static_cast<CauseId>(result_.causes.size() - 1);
}

CauseSetId Solver::sure_of(std::uint32_t node) {
  const WaitNet::Node& it = net_.nodes[node];
  if (it.unknown != Unknown::kNobody) {
    return CauseSets::kNone;
  }
  parts_.clear();
  CauseSetId sure = CauseSets::kEvery;
  for (const std::uint32_t to : net_.out[node]) {
    if (it.join == Join::kAll) {
      parts_.push_back(result_.sure[to]);
    } else {
      sure = result_.sets.common(sure, result_.sure[to]);
    }
  }
  return it.join == Join::kAll ? result_.sets.unite(parts_) : sure;
}

CauseSetId Solver::may_of(std::uint32_t node) {
  parts_.clear();
  for (const std::uint32_t to : net_.out[node]) {
    parts_.push_back(result_.may[to]);
  }
  return result_.sets.unite(parts_);
}

bool Solver::is_unclear(std::uint32_t node) const {
  const Join join = net_.nodes[node].join;
  const auto& targets = net_.out[node];
  const auto is_beyond = [&](std::uint32_t to) { return component_[to] != component_[node]; };
  // The first one comes from outside: nodes that need this node do not come before it.
  const bool leaves = join == Join::kAny && std::ranges::any_of(targets, is_beyond);
  CauseSetId first = CauseSets::kNone;
  for (const std::uint32_t to : targets) {
    const CauseSetId may = result_.may[to];
    if (leaves && !is_beyond(to)) {
      continue;
    }
    if (result_.unclear[to] || (join != Join::kAll && may != CauseSets::kNone &&
                                first != CauseSets::kNone && may != first)) {
      return true;
    }
    first = may != CauseSets::kNone ? may : first;
  }
  return false;
}

void Solver::solve_single(std::uint32_t node) {
  if (net_.out[node].empty()) {
    result_.sure[node] = result_.may[node] = result_.sets.only(cause_of(node));
    return;
  }
  result_.sure[node] = sure_of(node);
  result_.may[node] = may_of(node);
  result_.unclear[node] = is_unclear(node);
}

// All members of a circle need the circle, and what any of them waits for outside of it. Nodes that
// may be in it may be held by it. Nodes that only lead through it need what they need elsewhere.
void Solver::solve_circular(Nodes nodes) {
  const std::vector<bool> certain = standing(nodes, Run::kOptimistic);
  const std::vector<bool> possible = standing(nodes, Run::kPessimistic);
  const bool any_certain = std::ranges::find(certain, true) != certain.end();
  const bool any_possible = std::ranges::find(possible, true) != possible.end();
  CauseSetId circle = CauseSets::kNone;
  if (any_possible) {
    circle = result_.sets.only(add_circle(nodes, any_certain ? certain : possible, any_certain));
  }
  std::vector<CauseSetId> beyond = {circle};  // of the members of a certain circle
  std::vector<CauseSetId> may = {circle};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint32_t to : net_.out[nodes[i]]) {
      if (component_[to] == component_[nodes[i]]) {
        continue;
      }
      may.push_back(result_.may[to]);
      if (certain[i]) {
        beyond.push_back(result_.sure[to]);
      }
    }
  }
  const CauseSetId all_may = result_.sets.unite(may);
  const CauseSetId all_beyond = result_.sets.unite(beyond);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    result_.may[nodes[i]] = all_may;
    // A node that waits for one of several, perhaps for a member, may need no other.
    const WaitNet::Node& it = net_.nodes[nodes[i]];
    const bool perhaps =
        possible[i] && (it.join != Join::kAll || it.loose || it.unknown != Unknown::kNobody);
    fixed_[nodes[i]] = certain[i] || perhaps;
    result_.sure[nodes[i]] = certain[i] ? all_beyond
                             : perhaps  ? CauseSets::kNone
                                        : CauseSets::kEvery;
  }
  settle(nodes);
  // They all may need the same, so if that is unclear for one of them, it is for all.
  const bool unclear =
      (any_possible && !any_certain) ||
      std::ranges::any_of(nodes, [&](std::uint32_t node) { return is_unclear(node); });
  for (const std::uint32_t node : nodes) {
    result_.unclear[node] = unclear;
  }
}

// Lowers the values of the nodes that are not fixed until they agree with the values of their
// targets. First come the nodes that the pessimistic run has released, in the order of their
// release: so the targets of each have values before its turn, and few need a second turn. It ends,
// since a value only ever loses causes.
void Solver::settle(Nodes nodes) {
  std::queue<std::uint32_t> todo;
  const auto look_at = [&](std::uint32_t node) {
    if (!fixed_[node] && !marked_[node]) {
      marked_[node] = true;
      todo.push(node);
    }
  };
  std::for_each(released_.begin(), released_.end(), look_at);
  std::for_each(nodes.begin(), nodes.end(), look_at);
  while (!todo.empty()) {
    const std::uint32_t node = todo.front();
    todo.pop();
    marked_[node] = false;
    const CauseSetId sure = result_.sets.common(result_.sure[node], sure_of(node));
    if (sure == result_.sure[node]) {
      continue;
    }
    result_.sure[node] = sure;
    for (const std::uint32_t from : in_[node]) {
      if (component_[from] == component_[node]) {
        look_at(from);
      }
    }
  }
}

void Solver::find_rivals() {
  // Able nodes: all, by what they certainly need; and by cause, those that need it.
  struct Able {
    std::size_t open = 0;  // they are open causes themselves
    std::size_t free = 0;
  };
  Able all;
  std::vector<Able> by_set(result_.sets.size());
  for (std::uint32_t node = 0; node < net_.nodes.size(); ++node) {
    if (net_.nodes[node].able) {
      const CauseId own = cause_of_[node];
      const bool open = own != kNoCause && result_.causes[own].unknown == Unknown::kAnybody;
      Able& same = by_set[result_.sure[node]];
      ++(open ? all.open : all.free);
      ++(open ? same.open : same.free);
    }
  }
  std::vector<Able> needing(result_.causes.size());
  for (CauseSetId set = 0; set < by_set.size(); ++set) {
    if (by_set[set].open + by_set[set].free > 0) {
      for (const CauseId id : result_.sets.of(set)) {
        needing[id].open += by_set[set].open;
        needing[id].free += by_set[set].free;
      }
    }
  }
  for (CauseId id = 0; id < result_.causes.size(); ++id) {
    Cause& cause = result_.causes[id];
    if (cause.circle || cause.unknown != Unknown::kAnybody) {
      continue;
    }
    const std::uint32_t self = cause.nodes.front();
    const bool counted = net_.nodes[self].able && !result_.is_sure(self, id);
    const std::size_t open = all.open - needing[id].open - (counted ? 1 : 0);
    cause.rivals = all.free > needing[id].free ? Rivals::kFree
                   : open > 0                  ? Rivals::kOpen
                                               : Rivals::kNone;
  }
}

}  // namespace

Solution solve(const WaitNet& net) {
  return Solver(net).run();
}

std::vector<std::size_t> Solution::waiters(CauseId cause, std::size_t count) const {
  std::vector<std::size_t> found;
  for (std::size_t node = 0; node < std::min(count, sure.size()); ++node) {
    if (is_sure(node, cause) &&
        std::ranges::find(causes[cause].nodes, node) == causes[cause].nodes.end()) {
      found.push_back(node);
    }
  }
  return found;
}

CauseSetId CauseSets::intern(std::vector<CauseId> causes) {
  if (causes.empty()) {
    return kNone;
  }
  const auto [at, is_new] = ids_.try_emplace(std::move(causes), 0);
  if (is_new) {
    at->second = static_cast<CauseSetId>(sets_.size());
    kept_ += at->first.size();
    sets_.push_back(at->first);
  }
  return at->second;
}

CauseSetId CauseSets::unite(CauseSetId a, CauseSetId b) {
  if (a == b || b == kNone || a == kEvery) {
    return a;
  }
  if (a == kNone || b == kEvery || kept_ > max_kept_) {
    return a == kNone ? b : b == kEvery ? b : a;
  }
  const auto [at, is_new] = unions_.try_emplace(std::minmax(a, b), kNone);
  if (is_new) {
    std::vector<CauseId> both;
    std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
                   std::back_inserter(both));
    at->second = intern(std::move(both));
  }
  return at->second;
}

// By halves: one by one, all intermediate sets would be kept, with a number for each pair of
// causes.
CauseSetId CauseSets::unite(std::span<CauseSetId> sets) {
  std::ranges::sort(sets);
  std::size_t size = static_cast<std::size_t>(std::unique(sets.begin(), sets.end()) - sets.begin());
  while (size > 1) {
    for (std::size_t at = 0; at + 1 < size; at += 2) {
      sets[at / 2] = unite(sets[at], sets[at + 1]);
    }
    if (size % 2 == 1) {
      sets[size / 2] = sets[size - 1];
    }
    size = (size + 1) / 2;
  }
  return size == 0 ? kNone : sets.front();
}

CauseSetId CauseSets::common(CauseSetId a, CauseSetId b) {
  if (a == b || b == kEvery || a == kNone) {
    return a;
  }
  if (a == kEvery || b == kNone) {
    return b;
  }
  if (kept_ > max_kept_) {
    return kNone;
  }
  std::vector<CauseId> both;
  std::set_intersection(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
                        std::back_inserter(both));
  return intern(std::move(both));
}

bool CauseSets::has(CauseSetId id, CauseId cause) const {
  return std::ranges::binary_search(sets_[id], cause);
}

}  // namespace oddrank::aggregate
