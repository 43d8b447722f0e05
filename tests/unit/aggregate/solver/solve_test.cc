#include "aggregate/solver/solve.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <random>
#include <tuple>

#include "tests/support/catch.h"
#include "tests/unit/aggregate/solver/judge_solution.h"

namespace oddrank::aggregate {
namespace {

bool tries_all() {
  return std::getenv("ODDRANK_FULL") != nullptr;  // NOLINT(concurrency-mt-unsafe): one thread
}

// Compares solutions with the truth, and counts what it has seen.
struct Judge {
  std::size_t nets = 0;
  std::size_t circles = 0;  // nets in which one is possible

  void look_at(const WaitNet& net) {
    const Tried tried = try_all_worlds(net);
    ++nets;
    circles += tried.ever_circular != 0 ? 1 : 0;
    const std::string error = first_error(net, tried, solve(net));
    if (!error.empty()) {
      FAIL(error << words_of(net));
    }
  }
};

// What a node may be in a net that is one of all there are.
struct NodeSort {
  NodeSet targets = 0;
  Join join = Join::kAll;
  Unknown unknown = Unknown::kNobody;
  bool loose = false;

  bool has(std::size_t target) const { return (targets & bit_of(target)) != 0; }
  // The sort of this node, however the nodes are numbered.
  auto key(std::size_t node) const {
    return std::tuple(std::popcount(targets), has(node), join, unknown, loose);
  }
};

// Returns whatever a node may be in a net of so many, but that some are loose in the full run only.
std::vector<NodeSort> all_sorts(std::size_t nodes) {
  std::vector<NodeSort> sorts;
  for (const Unknown unknown : {Unknown::kNobody, Unknown::kInside, Unknown::kAnybody}) {
    sorts.push_back({0, Join::kAll, unknown, false});
  }
  for (NodeSet targets = 1; targets < bit_of(nodes); ++targets) {
    for (const Join join : {Join::kAll, Join::kAny, Join::kOneOf}) {
      sorts.push_back({targets, join, Unknown::kNobody, false});
      sorts.push_back({targets, join, Unknown::kAnybody, false});
      if (tries_all()) {
        sorts.push_back({targets, join, Unknown::kNobody, true});
        sorts.push_back({targets, join, Unknown::kAnybody, true});
      }
    }
  }
  return sorts;
}

WaitNet net_of(const std::vector<NodeSort>& sorts, const std::vector<std::size_t>& at) {
  WaitNet net;
  for (std::size_t node = 0; node < at.size(); ++node) {
    const NodeSort& sort = sorts[at[node]];
    net.add(sort.join);
    net.nodes[node].unknown = sort.unknown;
    net.nodes[node].loose = sort.loose;
    for (std::size_t to = 0; to < at.size(); ++to) {
      if (sort.has(to)) {
        net.wait(node, to);
      }
    }
  }
  return net;
}

// Judges all nets of nodes of these sorts, but for some that are the same in other numbers: of each
// net, one is judged in which the keys ascend. Nodes wait for themselves only if that is asked for.
void look_at_all(std::size_t nodes,
                 const std::vector<NodeSort>& sorts,
                 bool for_themselves,
                 Judge& judge) {
  std::vector<std::size_t> at(nodes, 0);
  const auto is_meant = [&](std::size_t node) {
    const NodeSort& sort = sorts[at[node]];
    const bool ascends = node == 0 || sorts[at[node - 1]].key(node - 1) <= sort.key(node);
    return ascends && (for_themselves || !sort.has(node));
  };
  while (at.front() < sorts.size()) {
    std::size_t node = 0;
    while (node < nodes && is_meant(node)) {
      ++node;
    }
    if (node == nodes) {
      WaitNet net = net_of(sorts, at);
      for (node = 0; node < nodes; ++node) {
        net.nodes[node].able = (judge.nets >> node) % 2 != 0;
      }
      judge.look_at(net);
    }
    node = nodes - 1;
    while (++at[node] == sorts.size() && node > 0) {
      at[node--] = 0;
    }
  }
}

using Random = std::mt19937_64;

bool one_in(Random& random, std::size_t times) {
  return random() % times == 0;
}

// Returns a net of at most this many nodes. What may be in it is drawn first, so that there are
// plain nets as well as mixed ones.
WaitNet random_net(Random& random, std::size_t most) {
  WaitNet net;
  const std::size_t nodes = 1 + random() % most;
  const std::size_t ranks = one_in(random, 2) ? nodes : 1 + random() % nodes;
  const std::size_t first_join = random() % 3;
  const std::size_t joins = 1 + random() % 3;
  const std::size_t most_targets = 1 + random() % 4;
  const bool backwards = one_in(random, 3);
  const bool unknown = !one_in(random, 3);
  const bool loose = one_in(random, 4);
  for (std::size_t node = 0; node < nodes; ++node) {
    net.add(static_cast<Join>((first_join + random() % joins) % 3));
    WaitNet::Node& it = net.nodes[node];
    it.owner = static_cast<std::uint32_t>(node < ranks ? node : random() % ranks);
    it.able = node < ranks && one_in(random, 2);
    it.loose = loose && one_in(random, 4);
    it.unknown = static_cast<Unknown>(unknown && one_in(random, 3) ? random() % 3 : 0);
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    for (std::size_t targets = random() % (most_targets + 1); targets > 0; --targets) {
      const bool anywhere = backwards || node + 1 == nodes || one_in(random, 8);
      net.wait(node, anywhere ? random() % nodes : node + 1 + random() % (nodes - node - 1));
    }
  }
  return net;
}

using NodeNumbers = std::vector<std::uint32_t>;  // by node, the one that it gets

NodeNumbers same_numbers(std::size_t nodes) {
  NodeNumbers numbers(nodes);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

// Returns the net with other numbers, and with the targets in another order.
WaitNet renumbered(const WaitNet& net, const NodeNumbers& numbers, Random& random) {
  WaitNet result = net;
  for (std::size_t node = 0; node < net.nodes.size(); ++node) {
    result.nodes[numbers[node]] = net.nodes[node];
    result.nodes[numbers[node]].owner = numbers[net.nodes[node].owner];
    auto& targets = result.out[numbers[node]] = net.out[node];
    std::transform(targets.begin(), targets.end(), targets.begin(),
                   [&](std::uint32_t to) { return numbers[to]; });
    std::shuffle(targets.begin(), targets.end(), random);
  }
  return result;
}

// Adds a net whose nodes are able to nothing.
void add_beside(const WaitNet& other, WaitNet& net) {
  const std::size_t first = net.nodes.size();
  for (std::size_t node = 0; node < other.nodes.size(); ++node) {
    net.nodes.push_back(other.nodes[node]);
    net.nodes.back().owner += static_cast<std::uint32_t>(first);
    net.nodes.back().able = false;
    net.out.emplace_back();
    for (const std::uint32_t to : other.out[node]) {
      net.wait(first + node, first + to);
    }
  }
}

using CauseFacts = std::tuple<NodeNumbers, bool, bool, Unknown, Rivals>;
using NodeFacts = std::tuple<std::vector<CauseFacts>, std::vector<CauseFacts>, bool>;

// Returns what a solution says of the first nodes, by the numbers that these get.
std::vector<NodeFacts> facts_of(const Solution& solution, const NodeNumbers& numbers) {
  const auto causes_of = [&](CauseSetId set) {
    std::vector<CauseFacts> facts;
    for (const CauseId id : solution.sets.of(set)) {
      const Cause& cause = solution.causes[id];
      NodeNumbers nodes;
      for (const std::uint32_t node : cause.nodes) {
        nodes.push_back(numbers.at(node));
      }
      std::sort(nodes.begin(), nodes.end());
      facts.emplace_back(nodes, cause.circle, cause.certain, cause.unknown, cause.rivals);
    }
    std::sort(facts.begin(), facts.end());
    return facts;
  };
  std::vector<NodeFacts> result(numbers.size());
  for (std::size_t node = 0; node < numbers.size(); ++node) {
    result[numbers[node]] = {causes_of(solution.sure[node]), causes_of(solution.may[node]),
                             solution.unclear[node]};
  }
  return result;
}

}  // namespace

TEST_CASE("every net of up to three nodes is solved as trying all worlds does") {
  Judge judge;
  for (std::size_t nodes = 1; nodes <= 3; ++nodes) {
    look_at_all(nodes, all_sorts(nodes), true, judge);
  }
  CHECK(judge.nets > 15'000);
  CHECK(judge.nets - judge.circles > 500);
}

// In the default run without those in which a node waits for itself.
TEST_CASE("every AND-OR net of four nodes is solved as trying all worlds does") {
  std::vector<NodeSort> sorts;
  for (NodeSet targets = 0; targets < bit_of(4); ++targets) {
    sorts.push_back({targets, Join::kAll, Unknown::kNobody, false});
    if (std::popcount(targets) > 1) {
      sorts.push_back({targets, Join::kAny, Unknown::kNobody, false});
    }
  }
  Judge judge;
  look_at_all(4, sorts, tries_all(), judge);
  CHECK(judge.nets > 2'000);
  CHECK(judge.nets - judge.circles > 300);
}

TEST_CASE("random nets are solved as trying all worlds does") {
  constexpr std::size_t kMaxWorlds = 512;
  const std::size_t nets = tries_all() ? 100'000 : 6'000;
  Random random(1);
  Judge judge;
  while (judge.nets < nets) {
    const WaitNet net = random_net(random, 10);
    if (count_worlds(net) <= kMaxWorlds) {
      judge.look_at(net);
    }
  }
  CHECK(judge.circles > nets / 3);
  CHECK(judge.nets - judge.circles > nets / 3);
}

TEST_CASE("a net without nodes has no causes") {
  const Solution solution = solve({});
  CHECK(solution.causes.empty());
  CHECK(solution.sure.empty());
}

TEST_CASE("who comes first may come round a circle that has a way out") {
  WaitNet net;
  const std::size_t asker = net.add(Join::kAny);
  const std::size_t answers = net.add(Join::kAll);
  const std::size_t end = net.add(Join::kAll);
  net.wait(asker, end);
  net.wait(asker, answers);
  net.wait(answers, asker);
  net.wait(answers, net.add(Join::kAll));
  const auto needs_end = [&](const Solution& solution) {
    const std::vector<CauseId>& sure = solution.sets.of(solution.sure[asker]);
    return sure.size() == 1 && solution.causes[sure[0]].nodes.front() == end;
  };
  const Solution held = solve(net);
  CHECK(needs_end(held));
  CHECK_FALSE(held.unclear[asker]);
  net.nodes[answers].unknown = Unknown::kInside;  // it may go on by itself
  const Solution free = solve(net);
  CHECK(free.sure[asker] == CauseSets::kNone);
  CHECK(free.sets.of(free.may[asker]).size() == 2);
}

TEST_CASE("a node that may be in a circle needs all the same what it waits for beside it") {
  WaitNet net;
  const std::size_t waiter = net.add(Join::kAll);
  const std::size_t asker = net.add(Join::kAny);
  net.wait(asker, waiter);
  net.wait(waiter, asker);
  net.wait(waiter, net.add(Join::kAll));
  net.nodes[asker].unknown = Unknown::kAnybody;
  const Solution solution = solve(net);
  REQUIRE(solution.causes.size() == 2);
  CHECK(solution.causes[1].circle);
  CHECK_FALSE(solution.causes[1].certain);
  CHECK(solution.is_sure(waiter, 0));
  CHECK(solution.sure[asker] == CauseSets::kNone);
  CHECK(solution.is_possible(waiter, 1));
}

TEST_CASE("a node that needs an open cause is not its rival, even if it is open itself") {
  WaitNet net;
  const std::size_t cause = net.add(Join::kAll);
  const std::size_t rank = net.add(Join::kAll);
  const std::size_t thread = net.add(Join::kAll);
  net.nodes[thread].owner = static_cast<std::uint32_t>(rank);
  net.wait(rank, cause);
  net.wait(rank, thread);
  net.nodes[cause].unknown = net.nodes[thread].unknown = Unknown::kAnybody;
  net.nodes[rank].able = true;
  const Solution solution = solve(net);
  REQUIRE(solution.causes.size() == 2);
  CHECK(solution.causes[0].nodes == std::vector<std::uint32_t>{0});
  CHECK(solution.causes[0].rivals == Rivals::kNone);
}

TEST_CASE("a solution does not depend on how nodes are numbered") {
  Random random(2);
  for (int i = 0; i < (tries_all() ? 20'000 : 1'000); ++i) {
    const WaitNet net = random_net(random, 30);
    NodeNumbers numbers = same_numbers(net.nodes.size());
    std::shuffle(numbers.begin(), numbers.end(), random);
    const Solution other = solve(renumbered(net, numbers, random));
    if (facts_of(solve(net), numbers) != facts_of(other, same_numbers(numbers.size()))) {
      FAIL("not the same in other numbers:" << words_of(net));
    }
  }
}

TEST_CASE("a separate net changes nothing for the nodes beside it") {
  Random random(3);
  for (int i = 0; i < (tries_all() ? 20'000 : 1'000); ++i) {
    const WaitNet net = random_net(random, 20);
    WaitNet both = net;
    add_beside(random_net(random, 20), both);
    const NodeNumbers numbers = same_numbers(net.nodes.size());
    if (facts_of(solve(net), numbers) != facts_of(solve(both), numbers)) {
      FAIL("not the same beside others:" << words_of(both));
    }
  }
}

namespace {

using Causes = std::vector<CauseId>;

CauseSetId set_of(CauseSets& sets, const Causes& causes) {
  CauseSetId set = CauseSets::kNone;
  for (const CauseId cause : causes) {
    set = sets.unite(set, sets.only(cause));
  }
  return set;
}

}  // namespace

TEST_CASE("a set of causes is kept once, however it came about") {
  CauseSets sets;
  CHECK(sets.only(7) == sets.only(7));
  CHECK(sets.only(7) != sets.only(8));
  const CauseSetId both = set_of(sets, {7, 3});
  CHECK(sets.of(both) == Causes{3, 7});
  CHECK(set_of(sets, {3, 7, 3}) == both);
  const std::size_t size = sets.size();
  set_of(sets, {7, 3});
  CHECK(sets.size() == size);
}

TEST_CASE("a union has what is in one of the sets") {
  CauseSets sets;
  const CauseSetId a = set_of(sets, {1, 2});
  const CauseSetId b = set_of(sets, {2, 3});
  CHECK(sets.of(sets.unite(a, b)) == Causes{1, 2, 3});
  CHECK(sets.unite(a, b) == sets.unite(b, a));
  CHECK(sets.unite(a, a) == a);
  CHECK(sets.unite(a, CauseSets::kNone) == a);
  CHECK(sets.unite(CauseSets::kNone, a) == a);
  CHECK(sets.unite(a, CauseSets::kEvery) == CauseSets::kEvery);
  CHECK(sets.unite(CauseSets::kEvery, a) == CauseSets::kEvery);
}

TEST_CASE("sets have in common what is in both") {
  CauseSets sets;
  const CauseSetId a = set_of(sets, {1, 2, 4});
  const CauseSetId b = set_of(sets, {2, 3, 4});
  CHECK(sets.of(sets.common(a, b)) == Causes{2, 4});
  CHECK(sets.common(a, set_of(sets, {3, 5})) == CauseSets::kNone);
  CHECK(sets.common(a, a) == a);
  CHECK(sets.common(a, CauseSets::kNone) == CauseSets::kNone);
  CHECK(sets.common(CauseSets::kNone, a) == CauseSets::kNone);
  CHECK(sets.common(a, CauseSets::kEvery) == a);
  CHECK(sets.common(CauseSets::kEvery, a) == a);
}

TEST_CASE("a set has its causes and no others") {
  CauseSets sets;
  const CauseSetId set = set_of(sets, {2, 9});
  CHECK(sets.has(set, 2));
  CHECK(sets.has(set, 9));
  CHECK_FALSE(sets.has(set, 3));
  CHECK_FALSE(sets.has(CauseSets::kNone, 0));
}

TEST_CASE("many sets are united without keeping a set for each on the way") {
  constexpr CauseId kSets = 20'000;
  CauseSets sets;
  std::vector<CauseSetId> parts = {CauseSets::kNone};
  for (CauseId cause = kSets; cause-- > 0;) {
    parts.push_back(sets.only(cause));
    parts.push_back(parts.back());
  }
  const CauseSetId all = sets.unite(parts);
  REQUIRE(sets.of(all).size() == kSets);
  CHECK(std::is_sorted(sets.of(all).begin(), sets.of(all).end()));
  CHECK(sets.of(all).back() == kSets - 1);

  parts = {};
  CHECK(sets.unite(parts) == CauseSets::kNone);
  parts = {all, CauseSets::kEvery, sets.only(1)};
  CHECK(sets.unite(parts) == CauseSets::kEvery);
}

TEST_CASE("sets that have grown beyond measure say less, and grow no more") {
  CauseSets sets(100);
  CauseSetId grown = CauseSets::kNone;
  for (CauseId cause = 0; cause < 100; ++cause) {
    grown = sets.unite(grown, sets.only(cause));
  }
  CHECK(sets.of(grown).size() > 5);
  CHECK(sets.of(grown).size() < 50);
  const CauseSetId other = sets.only(99);
  const std::size_t size = sets.size();
  const CauseSetId part = sets.unite(grown, other);
  CHECK((part == grown || part == other));
  CHECK(sets.common(grown, sets.only(1)) == CauseSets::kNone);
  CHECK(sets.common(grown, grown) == grown);
  CHECK(sets.size() == size);
}

}  // namespace oddrank::aggregate
