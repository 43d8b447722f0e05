#include "aggregate/solver/solve.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>
#include <string>
#include <tuple>

#include "tests/support/catch.h"
#include "tests/unit/aggregate/solver/exhaustive.h"

namespace oddrank::aggregate {
namespace {

bool is_full() {
  return std::getenv("ODDRANK_FULL") != nullptr;  // NOLINT(concurrency-mt-unsafe): one thread
}

// Compares with the truth, and counts what sorts of nets it has seen.
class Judge {
 public:
  void judge(const WaitNet& net) {
    const Tried tried = try_all_worlds(net);
    ++nets_;
    with_circle_ += tried.ever_circular != 0 ? 1 : 0;
    const std::string wrong = first_error(net, tried, solve(net));
    if (!wrong.empty()) {
      FAIL(wrong << words_of(net));
    }
  }
  std::size_t nets() const { return nets_; }
  std::size_t with_circle() const { return with_circle_; }

 private:
  std::size_t nets_ = 0;
  std::size_t with_circle_ = 0;
};

// What a node may be in a net that is one of all.
struct NodeSort {
  NodeSet targets = 0;
  Join join = Join::kAll;
  Unknown unknown = Unknown::kNobody;
  bool loose = false;

  // The same for nodes that differ in their numbers only.
  auto key() const { return std::tuple(std::popcount(targets), join, unknown, loose); }
};

// Calls `use` with all nets of nodes of these sorts (at least once with each, whatever the numbers
// of its nodes are: the sorts of its nodes ascend).
template <typename Use>
void for_all_nets(std::size_t nodes, const std::vector<NodeSort>& sorts, const Use& use) {
  std::vector<std::size_t> at(nodes, 0);
  while (at.front() < sorts.size()) {
    const bool ascends = std::is_sorted(at.begin(), at.end(), [&](std::size_t a, std::size_t b) {
      return sorts[a].key() < sorts[b].key();
    });
    if (ascends) {
      WaitNet net;
      for (std::size_t node = 0; node < nodes; ++node) {
        const NodeSort& sort = sorts[at[node]];
        net.add(sort.join);
        net.nodes[node].unknown = sort.unknown;
        net.nodes[node].loose = sort.loose;
        for (std::size_t to = 0; to < nodes; ++to) {
          if ((sort.targets & bit_of(to)) != 0) {
            net.wait(node, to);
          }
        }
      }
      use(net);
    }
    for (std::size_t node = nodes; node-- > 0;) {
      ++at[node];
      if (at[node] < sorts.size() || node == 0) {
        break;
      }
      at[node] = 0;
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

// What a solution says of the first nodes of a net, once these have got other numbers.
struct Said {
  using Said1 = std::tuple<std::vector<std::uint32_t>, bool, bool, Unknown, Rivals>;
};

}  // namespace

TEST_CASE("every net of up to three nodes is solved as trying every world solves it") {
  std::vector<NodeSort> sorts;
  for (const Unknown unknown : {Unknown::kNobody, Unknown::kInside, Unknown::kAnybody}) {
    sorts.push_back({0, Join::kAll, unknown, false});
    for (const Join join : {Join::kAll, Join::kAny, Join::kOneOf}) {
      for (NodeSet targets = 1; targets < 8; ++targets) {
        if (unknown == Unknown::kInside)
          continue;
        sorts.push_back({targets, join, unknown, false});
        if (is_full()) {
          sorts.push_back({targets, join, unknown, true});
        }
      }
    }
  }
  Judge judge;
  for (std::size_t nodes = 1; nodes <= 3; ++nodes) {
    std::vector<NodeSort> fit;
    std::copy_if(sorts.begin(), sorts.end(), std::back_inserter(fit),
                 [&](const NodeSort& sort) { return sort.targets < bit_of(nodes); });
    for_all_nets(nodes, fit, [&](WaitNet& net) {
      for (std::size_t node = 0; node < nodes; ++node) {
        net.nodes[node].able = (judge.nets() >> node) % 2 != 0;
      }
      judge.judge(net);
    });
  }
  std::cout << judge.nets() << " " << judge.with_circle() << "\n";
}

TEST_CASE("every net of four nodes that wait for all or any is solved as trying solves it") {
  std::vector<NodeSort> sorts;
  for (NodeSet targets = 0; targets < 16; ++targets) {
    sorts.push_back({targets, Join::kAll, Unknown::kNobody, false});
    if (std::popcount(targets) > 1) {
      sorts.push_back({targets, Join::kAny, Unknown::kNobody, false});
    }
  }
  Judge judge;
  for_all_nets(4, sorts, [&](const WaitNet& net) { judge.judge(net); });
  std::cout << judge.nets() << " " << judge.with_circle() << "\n";
}

TEST_CASE("random nets are solved as trying every world solves them") {
  constexpr std::size_t kMaxWorlds = 512;
  const std::size_t nets = is_full() ? 100'000 : 4'000;
  Random random(20'240'521);
  Judge judge;
  while (judge.nets() < nets) {
    const WaitNet net = random_net(random, 10);
    if (count_worlds(net) <= kMaxWorlds) {
      judge.judge(net);
    }
  }
  std::cout << judge.nets() << " " << judge.with_circle() << "\n";
}

}  // namespace oddrank::aggregate
