#include "tests/unit/aggregate/solver/exhaustive.h"

#include <algorithm>

namespace oddrank::aggregate {
namespace {

// What a node waits for in a world. One of nothing never goes on, all of nothing does at once.
struct Choice {
  NodeSet targets = 0;
  bool one = true;
  bool loosened = false;  // it is loose, and does not wait
};

struct World {
  Choice choices[kMaxTriedNodes];
  bool loosened = false;
};

NodeSet targets_of(const WaitNet& net, std::size_t node) {
  NodeSet targets = 0;
  for (const std::uint32_t to : net.out[node]) {
    targets |= bit_of(to);
  }
  return targets;
}

std::vector<Choice> choices_of(const WaitNet& net, std::size_t node) {
  const WaitNet::Node& it = net.nodes[node];
  const NodeSet targets = targets_of(net, node);
  if (targets == 0) {
    return {Choice{}};
  }
  std::vector<Choice> choices;
  if (it.join != Join::kOneOf) {
    choices.push_back({targets, it.join == Join::kAny, false});
  }
  for (std::size_t to = 0; it.join == Join::kOneOf && to < net.nodes.size(); ++to) {
    if ((targets & bit_of(to)) != 0) {
      choices.push_back({bit_of(to), true, false});
    }
  }
  if (it.unknown != Unknown::kNobody) {
    choices.push_back({0, false, false});
  }
  if (it.loose) {
    choices.push_back({0, false, true});
  }
  return choices;
}

class Search {
 public:
  explicit Search(const WaitNet& net) : net_(net), all_(bit_of(net.nodes.size()) - 1) {}
  Tried run();

 private:
  void list_worlds();
  void find_paths();
  void find_ends();
  void find_circles();
  void add_circle(NodeSet nodes, bool certain, NodeSet component);
  void find_needs(TriedCause& cause);
  // Returns which nodes never go on if everything else than this component has.
  NodeSet standing(const World& world, NodeSet component) const;
  NodeSet needing(const World& world, const TriedCause& cause) const;
  NodeSet component_of(std::size_t node) const;
  // Returns all that have gone on in the end.
  NodeSet gone(const World& world, NodeSet start) const;

  const WaitNet& net_;
  const NodeSet all_;
  std::vector<World> worlds_;
  std::vector<NodeSet> reach_;  // by node: where paths lead from it, itself included
  NodeSet doubtful_ = 0;        // the nodes that are in a circle in some worlds only
  Tried tried_;
};

void Search::list_worlds() {
  worlds_.assign(1, World{});
  for (std::size_t node = 0; node < net_.nodes.size(); ++node) {
    const std::vector<Choice> choices = choices_of(net_, node);
    const std::size_t worlds = worlds_.size();
    for (std::size_t copy = worlds; copy < worlds * choices.size(); ++copy) {
      worlds_.push_back(World(worlds_[copy - worlds]));
    }
    for (std::size_t at = 0; at < worlds_.size(); ++at) {
      const Choice& choice = choices[at / worlds];
      worlds_[at].choices[node] = choice;
      worlds_[at].loosened = worlds_[at].loosened || choice.loosened;
    }
  }
}

void Search::find_paths() {
  for (std::size_t node = 0; node < net_.nodes.size(); ++node) {
    reach_.push_back(bit_of(node) | targets_of(net_, node));
  }
  for (std::size_t via = 0; via < reach_.size(); ++via) {
    for (NodeSet& reach : reach_) {
      reach |= (reach & bit_of(via)) != 0 ? reach_[via] : 0;
    }
  }
}

NodeSet Search::component_of(std::size_t node) const {
  NodeSet component = 0;
  for (std::size_t other = 0; other < reach_.size(); ++other) {
    const bool there = (reach_[node] & bit_of(other)) != 0;
    component |= there && (reach_[other] & bit_of(node)) != 0 ? bit_of(other) : 0;
  }
  return component;
}

NodeSet Search::gone(const World& world, NodeSet start) const {
  NodeSet gone = start;
  NodeSet before = 0;
  do {
    before = gone;
    for (std::size_t node = 0; node < reach_.size(); ++node) {
      const Choice& choice = world.choices[node];
      const bool goes = choice.one ? (choice.targets & gone) != 0 : (choice.targets & ~gone) == 0;
      gone |= goes ? bit_of(node) : 0;
    }
  } while (gone != before);
  return gone;
}

NodeSet Search::standing(const World& world, NodeSet component) const {
  return all_ & ~gone(world, all_ & ~component);
}

void Search::add_circle(NodeSet nodes, bool certain, NodeSet component) {
  TriedCause cause;
  cause.nodes = nodes;
  cause.circle = true;
  cause.certain = certain;
  for (std::size_t node = 0; node < reach_.size(); ++node) {
    cause.beyond |= (nodes & bit_of(node)) != 0 ? targets_of(net_, node) & ~component : 0;
    cause.behind |= (nodes & reach_[node]) != 0 ? bit_of(node) : 0;
  }
  tried_.causes.push_back(cause);
}

void Search::find_circles() {
  for (std::size_t node = 0; node < reach_.size(); ++node) {
    const NodeSet component = component_of(node);
    if ((component & (bit_of(node) - 1)) != 0 || net_.out[node].empty()) {
      continue;  // seen from another node, or no circle
    }
    NodeSet always = component;
    NodeSet ever = 0;
    for (const World& world : worlds_) {
      const NodeSet here = standing(world, component);
      always &= here;
      ever |= here;
    }
    const bool round = (targets_of(net_, node) & bit_of(node)) != 0 || component != bit_of(node);
    tried_.has_way_round = tried_.has_way_round || round;
    tried_.ever_circular |= ever;
    doubtful_ |= ever & ~always;
    if (ever != 0) {
      add_circle(always != 0 ? always : ever, always != 0, component);
    }
  }
}

void Search::find_ends() {
  for (std::size_t owner = 0; owner < reach_.size(); ++owner) {
    TriedCause cause;
    cause.nodes = bit_of(owner);
    cause.unknown = Unknown::kAnybody;
    for (std::size_t node = 0; node < reach_.size(); ++node) {
      if (net_.out[node].empty() && net_.nodes[node].owner == owner) {
        cause.ends |= bit_of(node);
        cause.unknown = std::min(cause.unknown, net_.nodes[node].unknown);
      }
    }
    for (std::size_t node = 0; node < reach_.size(); ++node) {
      cause.behind |= (cause.ends & reach_[node]) != 0 ? bit_of(node) : 0;
    }
    if (cause.ends != 0) {
      tried_.causes.push_back(cause);
    }
  }
}

NodeSet Search::needing(const World& world, const TriedCause& cause) const {
  NodeSet over = doubtful_;
  for (const TriedCause& other : tried_.causes) {
    over |= &other != &cause ? other.ends : 0;
  }
  over &= ~(cause.circle ? cause.nodes : 0);
  NodeSet before = 0;
  do {
    before = over;
    over = gone(world, over);
    for (const TriedCause& other : tried_.causes) {
      const bool broken = &other != &cause && other.circle && (other.beyond & ~over) == 0;
      over |= broken ? other.nodes : 0;
    }
  } while (over != before);
  return all_ & ~over;
}

void Search::find_needs(TriedCause& cause) {
  cause.always = cause.certain ? all_ : 0;
  for (const World& world : worlds_) {
    if (!world.loosened) {
      const NodeSet here = needing(world, cause);
      cause.always &= here;
      cause.ever |= here;
    }
  }
}

Tried Search::run() {
  list_worlds();
  find_paths();
  find_circles();
  find_ends();
  for (TriedCause& cause : tried_.causes) {
    find_needs(cause);
  }
  return std::move(tried_);
}

}  // namespace

std::size_t count_worlds(const WaitNet& net) {
  std::size_t worlds = 1;
  for (std::size_t node = 0; node < net.nodes.size(); ++node) {
    worlds *= choices_of(net, node).size();
  }
  return worlds;
}

Tried try_all_worlds(const WaitNet& net) {
  return Search(net).run();
}

}  // namespace oddrank::aggregate
