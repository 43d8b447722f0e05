#include "aggregate/solver/graph_algorithms.h"

#include "tests/support/catch.h"

namespace oddrank::aggregate {

TEST_CASE("a circle is one component, a node that leads to it is another") {
  const Adjacency graph = {{1}, {2}, {0, 3}, {}, {0}};
  const auto component = components_of(graph);
  CHECK(component[0] == component[1]);
  CHECK(component[1] == component[2]);
  CHECK(component[3] != component[0]);
  CHECK(component[4] != component[0]);
  CHECK(component[3] < component[0]);  // sinks have lower numbers
  CHECK(component[0] < component[4]);
}

TEST_CASE("a chain of a million nodes does not exhaust the stack") {
  constexpr std::size_t kNodes = 1'000'000;
  Adjacency graph(kNodes);
  for (std::size_t node = 0; node + 1 < kNodes; ++node) {
    add_target(graph, node, node + 1);
  }
  const auto component = components_of(graph);
  CHECK(component.front() == kNodes - 1);
  CHECK(component.back() == 0);
}

TEST_CASE("distances follow the edges, and show the path") {
  const Adjacency graph = {{1, 2}, {3}, {3}, {}, {0}};
  std::vector<std::size_t> came_from;
  const auto distance = distances(graph, {0}, &came_from);
  CHECK(distance == std::vector<std::size_t>{0, 1, 1, 2, kFar});
  CHECK(came_from[3] == 1);
  CHECK(came_from[0] == kFar);
}

TEST_CASE("every way round leads through a cut") {
  // 0 and 1 wait for each other, 1 also for 2, which waits for 0; 3 only waits.
  const Adjacency beside = {{1}, {0, 2}, {0}, {0}};
  CHECK(has_circle(beside));
  CHECK(cuts_of(beside, {0, 1, 2}, {0, 1, 2}) == std::vector<std::size_t>{0, 1});
  const Adjacency sole = {{1, 2}, {0}, {0}};
  CHECK(cuts_of(sole, {0, 1, 2}, {0, 1, 2}) == std::vector<std::size_t>{0});
  const Adjacency ring = {{1}, {2}, {0}};
  CHECK(cuts_of(ring, {0, 1, 2}, {0, 1, 2}) == std::vector<std::size_t>{0, 1, 2});
  const Adjacency pairs = {{1}, {0, 2}, {1, 3}, {2}};
  CHECK(cuts_of(pairs, {0, 1, 2, 3}, {0, 1, 2, 3}).empty());
  // What leaves the component does not count.
  const Adjacency leaves = {{1}, {0, 2}, {}};
  CHECK(cuts_of(leaves, {0, 1}, {1}) == std::vector<std::size_t>{1});
  CHECK_FALSE(has_circle({{1}, {2}, {}}));
}

TEST_CASE("every edge is reversed") {
  CHECK(reversed({{1, 2}, {2}, {}}) == Adjacency{{}, {0}, {0, 1}});
}

}  // namespace oddrank::aggregate
