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

// Nodes that go on as one, when all have that they wait for.
struct Knot {
  NodeSet nodes = 0;
  NodeSet beyond = 0;
};

struct World {
  std::vector<Choice> choices;  // by node
  bool loosened = false;
  std::vector<Knot> circles;  // that stand in it
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
  NodeSet component_of(std::size_t node) const;
  NodeSet behind(NodeSet nodes) const;
  void find_circle(NodeSet component);
  void find_circles();
  void find_ends();
  void find_needs(TriedCause& cause);
  // Returns all that have gone on in the end, if these have at first.
  NodeSet gone(const World& world, NodeSet gone, const std::vector<Knot>& groups) const;

  const WaitNet& net_;
  const NodeSet all_;
  std::vector<World> worlds_;
  std::vector<NodeSet> reach_;  // by node: where paths lead from it, itself included
  NodeSet vague_ = 0;  // in a circle in some worlds only, and waiting for one of several or loosely
  Tried tried_;
};

void Search::list_worlds() {
  worlds_.emplace_back();
  for (std::size_t node = 0; node < net_.nodes.size(); ++node) {
    const std::vector<Choice> choices = choices_of(net_, node);
    std::vector<World> worlds;
    for (const Choice& choice : choices) {
      for (const World& world : worlds_) {
        worlds.push_back(world);
        worlds.back().choices.push_back(choice);
        worlds.back().loosened = world.loosened || choice.loosened;
      }
    }
    worlds_ = std::move(worlds);
  }
}

void Search::find_paths() {
  for (std::size_t node = 0; node < net_.nodes.size(); ++node) {
    reach_.push_back(bit_of(node) | targets_of(net_, node));
    tried_.has_way_round = tried_.has_way_round || (targets_of(net_, node) & bit_of(node)) != 0;
  }
  for (std::size_t via = 0; via < reach_.size(); ++via) {
    for (NodeSet& reach : reach_) {
      reach |= (reach & bit_of(via)) != 0 ? reach_[via] : 0;
    }
  }
}

NodeSet Search::component_of(std::size_t node) const {
  return behind(bit_of(node)) & reach_[node];
}

NodeSet Search::behind(NodeSet nodes) const {
  NodeSet behind = 0;
  for (std::size_t node = 0; node < reach_.size(); ++node) {
    behind |= (reach_[node] & nodes) != 0 ? bit_of(node) : 0;
  }
  return behind;
}

NodeSet Search::gone(const World& world, NodeSet gone, const std::vector<Knot>& groups) const {
  NodeSet before = 0;
  do {
    before = gone;
    for (std::size_t node = 0; node < reach_.size(); ++node) {
      const Choice& choice = world.choices[node];
      const bool goes = choice.one ? (choice.targets & gone) != 0 : (choice.targets & ~gone) == 0;
      gone |= goes ? bit_of(node) : 0;
    }
    for (const Knot& group : groups) {
      gone |= (group.beyond & ~gone) == 0 ? group.nodes : 0;
    }
  } while (gone != before);
  return gone;
}

void Search::find_circle(NodeSet component) {
  NodeSet always = component;
  NodeSet ever = 0;
  for (World& world : worlds_) {
    Knot circle = {component & ~gone(world, all_ & ~component, {}), 0};
    always &= circle.nodes;
    ever |= circle.nodes;
    for (std::size_t node = 0; node < reach_.size(); ++node) {
      const bool is_in = (circle.nodes & bit_of(node)) != 0;
      circle.beyond |= is_in ? world.choices[node].targets & ~circle.nodes : 0;
    }
    if (circle.nodes != 0) {
      world.circles.push_back(circle);
    }
  }
  for (std::size_t node = 0; node < reach_.size(); ++node) {
    const WaitNet::Node& it = net_.nodes[node];
    vague_ |= it.join != Join::kAll || it.loose ? ever & ~always & bit_of(node) : 0;
  }
  tried_.ever_circular |= ever;
  if (ever != 0) {
    TriedCause cause;
    cause.nodes = always != 0 ? always : ever;
    cause.circle = true;
    cause.certain = always != 0;
    cause.component = component;
    cause.behind = behind(cause.nodes);
    tried_.causes.push_back(cause);
  }
}

void Search::find_circles() {
  NodeSet seen = 0;
  for (std::size_t node = 0; node < reach_.size(); ++node) {
    const NodeSet component = component_of(node);
    tried_.has_way_round = tried_.has_way_round || component != bit_of(node);
    if ((seen & component) == 0 && !net_.out[node].empty()) {
      find_circle(component);
    }
    seen |= component;
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
    cause.behind = behind(cause.ends);
    if (cause.ends != 0) {
      tried_.causes.push_back(cause);
    }
  }
}

void Search::find_needs(TriedCause& cause) {
  NodeSet over = 0;
  std::vector<Knot> certain;
  for (const TriedCause& other : tried_.causes) {
    if (&other != &cause && other.circle && other.certain) {
      certain.push_back({other.nodes, 0});
      for (std::size_t node = 0; node < reach_.size(); ++node) {
        const bool is_in = (other.nodes & bit_of(node)) != 0;
        certain.back().beyond |= is_in ? targets_of(net_, node) & ~other.component : 0;
      }
    }
    over |= &other != &cause ? other.ends : 0;
  }
  cause.always = cause.plainly = all_;
  for (World& world : worlds_) {
    if (!world.loosened) {
      std::vector<Knot> others;
      std::copy_if(world.circles.begin(), world.circles.end(), std::back_inserter(others),
                   [&](const Knot& circle) { return (circle.nodes & cause.component) == 0; });
      const NodeSet needing = all_ & ~gone(world, over, others);
      cause.always &= needing;
      cause.ever |= needing;
      cause.plainly &= all_ & ~gone(world, over | vague_, certain);
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
