#include "aggregate/solver/graph_algorithms.h"

#include <algorithm>
#include <iterator>
#include <queue>
#include <set>

namespace oddrank::aggregate {
namespace {

struct Visit {
  std::size_t node;
  std::size_t next_edge;
};

class Tarjan {
 public:
  explicit Tarjan(const Adjacency& graph)
      : graph_(graph),
        index_(graph.size(), kFar),
        low_(graph.size(), 0),
        on_stack_(graph.size(), false),
        component_(graph.size(), kFar) {}

  std::vector<std::size_t> run();

 private:
  void enter(std::size_t node);
  void visit_from(std::size_t start);
  void close(std::size_t root);

  const Adjacency& graph_;
  std::vector<std::size_t> index_;
  std::vector<std::size_t> low_;
  std::vector<bool> on_stack_;
  std::vector<std::size_t> component_;
  std::vector<std::size_t> open_;
  std::vector<Visit> path_;
  std::size_t next_index_ = 0;
  std::size_t components_ = 0;
};

std::vector<std::size_t> Tarjan::run() {
  for (std::size_t node = 0; node < graph_.size(); ++node) {
    if (index_[node] == kFar) {
      visit_from(node);
    }
  }
  return std::move(component_);
}

void Tarjan::enter(std::size_t node) {
  index_[node] = low_[node] = next_index_++;
  open_.push_back(node);
  on_stack_[node] = true;
  path_.push_back({node, 0});
}

void Tarjan::visit_from(std::size_t start) {
  enter(start);
  while (!path_.empty()) {
    Visit& visit = path_.back();
    const std::size_t node = visit.node;
    if (visit.next_edge < graph_[node].size()) {
      const std::size_t target = graph_[node][visit.next_edge++];
      if (index_[target] == kFar) {
        enter(target);
      } else if (on_stack_[target]) {
        low_[node] = std::min(low_[node], index_[target]);
      }
      continue;
    }
    path_.pop_back();
    if (!path_.empty()) {
      low_[path_.back().node] = std::min(low_[path_.back().node], low_[node]);
    }
    if (low_[node] == index_[node]) {
      close(node);
    }
  }
}

void Tarjan::close(std::size_t root) {
  while (true) {
    const std::size_t node = open_.back();
    open_.pop_back();
    on_stack_[node] = false;
    component_[node] = components_;
    if (node == root) {
      break;
    }
  }
  ++components_;
}

// Returns the edges between these nodes (sorted) that do not touch `without`, by their places.
Adjacency edges_without(const Adjacency& graph,
                        const std::vector<std::size_t>& nodes,
                        std::size_t without) {
  Adjacency rest(nodes.size());
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    if (nodes[place] == without) {
      continue;
    }
    for (const std::size_t to : graph[nodes[place]]) {
      const auto at = std::lower_bound(nodes.begin(), nodes.end(), to);
      if (at != nodes.end() && *at == to && to != without) {
        add_target(rest, place, static_cast<std::size_t>(at - nodes.begin()));
      }
    }
  }
  return rest;
}

}  // namespace

std::vector<std::size_t> components_of(const Adjacency& graph) {
  return Tarjan(graph).run();
}

std::vector<std::size_t> distances(const Adjacency& graph,
                                   const std::vector<std::size_t>& starts,
                                   std::vector<std::size_t>* came_from) {
  std::vector<std::size_t> distance(graph.size(), kFar);
  if (came_from != nullptr) {
    came_from->assign(graph.size(), kFar);
  }
  std::queue<std::size_t> todo;
  for (const std::size_t start : starts) {
    distance[start] = 0;
    todo.push(start);
  }
  while (!todo.empty()) {
    const std::size_t node = todo.front();
    todo.pop();
    for (const std::size_t target : graph[node]) {
      if (distance[target] != kFar) {
        continue;
      }
      distance[target] = distance[node] + 1;
      if (came_from != nullptr) {
        (*came_from)[target] = node;
      }
      todo.push(target);
    }
  }
  return distance;
}

bool has_circle(const Adjacency& graph) {
  const std::vector<std::size_t> components = components_of(graph);
  return std::set<std::size_t>(components.begin(), components.end()).size() < components.size();
}

std::vector<std::size_t> cuts_of(const Adjacency& graph,
                                 const std::vector<std::size_t>& nodes,
                                 const std::vector<std::size_t>& candidates) {
  std::vector<std::size_t> cuts;
  if (candidates.size() <= kMaxCut) {
    std::ranges::copy_if(candidates, std::back_inserter(cuts), [&](std::size_t at) {
      return !has_circle(edges_without(graph, nodes, at));
    });
  }
  return cuts;
}

Adjacency reversed(const Adjacency& graph) {
  Adjacency result(graph.size());
  for (std::size_t node = 0; node < graph.size(); ++node) {
    for (const std::size_t target : graph[node]) {
      add_target(result, target, node);
    }
  }
  return result;
}

}  // namespace oddrank::aggregate
