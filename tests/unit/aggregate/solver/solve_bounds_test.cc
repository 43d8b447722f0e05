// Nets as large as a hostile capture can make them. Each takes a fraction of a second; what is
// recursive or quadratic in the nodes crashes or takes minutes.
#include <algorithm>
#include <ctime>

#include "aggregate/solver/solve.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kManyNodes = 100'000;

// Takes processor time, so that a machine that stands still does not matter.
class Stopwatch {
 public:
  // Generous: sanitizers and emulators are slow.
  bool is_quick() const { return std::clock() - start_ < 30 * CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

std::size_t add_nodes(WaitNet& net, std::size_t count, Join join) {
  const std::size_t first = net.nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    net.add(join);
  }
  return first;
}

// Makes the first nodes wait in a ring, for the next one or for the one before.
WaitNet ring_of(std::size_t nodes, bool forward) {
  WaitNet net;
  add_nodes(net, nodes, Join::kAll);
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::size_t next = (node + 1) % nodes;
    net.wait(forward ? node : next, forward ? next : node);
  }
  return net;
}

bool all_need(const Solution& solution, CauseId cause) {
  return std::all_of(solution.sure.begin(), solution.sure.end(),
                     [&](CauseSetId set) { return solution.sets.has(set, cause); });
}

}  // namespace

TEST_CASE("a ring of a hundred thousand nodes is one circle") {
  const Stopwatch watch;
  const Solution solution = solve(ring_of(kManyNodes, true));
  REQUIRE(solution.causes.size() == 1);
  CHECK(solution.causes[0].circle);
  CHECK(solution.causes[0].certain);
  CHECK(solution.causes[0].nodes.size() == kManyNodes);
  CHECK(all_need(solution, 0));
  CHECK(watch.is_quick());
}

TEST_CASE("all of a ring of a hundred thousand nodes need its only way out") {
  const Stopwatch watch;
  for (const bool forward : {true, false}) {
    WaitNet net = ring_of(kManyNodes, forward);
    net.nodes[kManyNodes / 2].join = Join::kAny;
    net.wait(kManyNodes / 2, net.add(Join::kAll));
    const Solution solution = solve(net);
    REQUIRE(solution.causes.size() == 1);
    CHECK_FALSE(solution.causes[0].circle);
    CHECK(all_need(solution, 0));
  }
  CHECK(watch.is_quick());
}

TEST_CASE("so do all spokes of a wheel, and its hub, for which its way out waits") {
  const Stopwatch watch;
  WaitNet net = ring_of(kManyNodes, true);
  const std::size_t hub = net.add(Join::kAll);
  for (std::size_t node = 0; node < kManyNodes; ++node) {
    net.wait(hub, node);
  }
  const std::size_t last = kManyNodes - 1;
  net.nodes[last].join = Join::kAny;
  net.wait(last, hub);
  net.wait(last, net.add(Join::kAll));
  const Solution solution = solve(net);
  REQUIRE(solution.causes.size() == 1);
  CHECK(all_need(solution, 0));
  CHECK(watch.is_quick());
}

TEST_CASE("a hundred thousand nodes in a chain wait for its end") {
  const Stopwatch watch;
  WaitNet net = ring_of(kManyNodes, true);
  net.out[kManyNodes - 1].clear();
  const Solution solution = solve(net);
  REQUIRE(solution.causes.size() == 1);
  CHECK(solution.causes[0].nodes == std::vector<std::uint32_t>{kManyNodes - 1});
  CHECK(solution.is_sure(0, 0));
  CHECK(watch.is_quick());
}

TEST_CASE("a node that waits for fifty thousand others needs each") {
  constexpr std::size_t kWaitedFor = 50'000;
  const Stopwatch watch;
  WaitNet net;
  const std::size_t waiter = net.add(Join::kAll);
  const std::size_t first = add_nodes(net, kWaitedFor, Join::kAll);
  for (std::size_t node = first; node < net.nodes.size(); ++node) {
    net.nodes[node].unknown = Unknown::kAnybody;
    net.nodes[node].able = true;
    net.wait(waiter, node);
  }
  const Solution solution = solve(net);
  CHECK(solution.causes.size() == kWaitedFor);
  CHECK(solution.sets.of(solution.sure[waiter]).size() == kWaitedFor);
  CHECK(solution.sets.of(solution.may[waiter]).size() == kWaitedFor);
  CHECK(std::all_of(solution.causes.begin(), solution.causes.end(),
                    [](const Cause& cause) { return cause.rivals == Rivals::kOpen; }));
  CHECK(watch.is_quick());
}

TEST_CASE("a circle of fifty thousand nodes needs what each of them needs") {
  constexpr std::size_t kMembers = 50'000;
  const Stopwatch watch;
  WaitNet net = ring_of(kMembers, true);
  const std::size_t first = add_nodes(net, kMembers, Join::kAll);
  for (std::size_t node = 0; node < kMembers; ++node) {
    net.wait(node, first + node);
  }
  const Solution solution = solve(net);
  CHECK(solution.causes.size() == kMembers + 1);
  CHECK(solution.sets.of(solution.sure[0]).size() == kMembers + 1);
  CHECK(watch.is_quick());
}

}  // namespace oddrank::aggregate
