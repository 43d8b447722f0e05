#include "report/tree/temporal_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate/view/plain_locals.h"

namespace oddrank::report {
namespace {

using aggregate::JobView;
using aggregate::RankNumber;
using aggregate::ShownFrame;
using aggregate::Variable;

struct Range {
  std::int64_t low = std::numeric_limits<std::int64_t>::max();
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  void add(std::int64_t number);
};

void Range::add(std::int64_t number) {
  low = std::min(low, number);
  high = std::max(high, number);
}

struct Counter {
  std::vector<RankNumber> numbers;  // by rank
  std::size_t order = 0;            // its place in the source

  std::optional<std::int64_t> of(std::int32_t rank) const;
};

std::optional<std::int64_t> Counter::of(std::int32_t rank) const {
  const auto at = std::lower_bound(
      numbers.begin(), numbers.end(), rank,
      [](const RankNumber& one, std::int32_t wanted) { return one.rank < wanted; });
  return at == numbers.end() || at->rank != rank ? std::nullopt : std::optional(at->number);
}

using Counters = std::map<Variable, Counter>;

// Returns whether every rank has a number of its own: loops advance alike on many ranks, so this is
// no loop count.
bool is_each_its_own(const std::vector<RankNumber>& numbers) {
  std::set<std::int64_t> values;
  for (const RankNumber& one : numbers) {
    values.insert(one.number);
  }
  return numbers.size() > 2 && values.size() == numbers.size();
}

Counters find_counters(const JobView& view) {
  Counters counters;
  aggregate::PlainLocals locals(view);
  for (const aggregate::RankView& rank : view.ranks()) {
    for (const aggregate::PlainLocal& local : locals.of(rank)) {
      if (const auto number = locals.number_of(local)) {
        Counter& counter = counters[locals.variable_of(local)];
        counter.numbers.push_back({rank.rank, *number});
        counter.order = local.order;
      }
    }
  }
  std::erase_if(counters, [&view](const auto& entry) {
    const auto& numbers = entry.second.numbers;
    return is_each_its_own(numbers) || follows_rank(numbers, view.expected());
  });
  return counters;
}

// What one counter says about the children of a node.
struct Testimony {
  const Variable* variable = nullptr;
  std::vector<Range> ranges;        // by child
  std::vector<std::size_t> places;  // by child: how many sets of children are before it
  std::size_t distinct = 1;         // number of sets of children that it tells apart
  std::size_t depth = 0;            // of the variable's frame, from the outermost
  std::size_t order = 0;
};

// Puts children whose ranges overlap, directly or through a third child, into one set.
void set_places(Testimony& testimony) {
  std::vector<std::size_t> by_low(testimony.ranges.size());
  for (std::size_t at = 0; at < by_low.size(); ++at) {
    by_low[at] = at;
  }
  const auto& ranges = testimony.ranges;
  std::sort(by_low.begin(), by_low.end(), [&ranges](std::size_t a, std::size_t b) {
    return std::tuple(ranges[a].low, a) < std::tuple(ranges[b].low, b);
  });
  testimony.places.resize(ranges.size());
  std::int64_t reached = ranges[by_low.front()].high;
  for (const std::size_t child : by_low) {
    testimony.distinct += ranges[child].low > reached ? 1U : 0U;
    reached = std::max(reached, ranges[child].high);
    testimony.places[child] = testimony.distinct - 1;
  }
}

// Returns whether one counter has a child before another that is after it by the other counter.
bool contradict(const Testimony& one, const Testimony& other) {
  // By place of `one`: the highest low end that `other` has up to there.
  std::vector<std::int64_t> highest(one.distinct, std::numeric_limits<std::int64_t>::min());
  for (std::size_t child = 0; child < one.places.size(); ++child) {
    std::int64_t& low = highest[one.places[child]];
    low = std::max(low, other.ranges[child].low);
  }
  for (std::size_t place = 1; place < highest.size(); ++place) {
    highest[place] = std::max(highest[place], highest[place - 1]);
  }
  for (std::size_t child = 0; child < one.places.size(); ++child) {
    const std::size_t place = one.places[child];
    if (place > 0 && highest[place - 1] > other.ranges[child].high) {
      return true;
    }
  }
  return false;
}

class Orderer {
 public:
  Orderer(const JobView& view, PrefixTree& tree) : tree_(tree), counters_(find_counters(view)) {}

  void order_all();

 private:
  // Returns variables, each with its depth, of the activations that all ranks below `node` share:
  // of the frames that lead to it, and of its children's frames if all are in the same function.
  std::vector<std::pair<Counters::const_iterator, std::size_t>> common(std::size_t node) const;

  // Returns nothing if a rank lacks the variable, or if it does not tell two children apart.
  std::optional<Testimony> hear(const Counter& counter,
                                const std::vector<std::size_t>& children) const;

  void order(std::size_t node);

  PrefixTree& tree_;
  const Counters counters_;
  std::vector<std::size_t> way_;  // nodes from the root to the current one, without the root
};

void Orderer::order_all() {
  if (counters_.empty()) {
    return;
  }
  // Walks depth first, with the frames that lead to the current node.
  std::vector<std::pair<std::size_t, std::size_t>> todo = {{0, 0}};  // node, length of its path
  while (!todo.empty()) {
    const auto [node, length] = todo.back();
    todo.pop_back();
    way_.resize(length);
    if (node != 0) {
      way_.push_back(node);
    }
    if (tree_.nodes[node].children.size() > 1) {
      order(node);
    }
    for (const std::size_t child : tree_.nodes[node].children) {
      todo.emplace_back(child, way_.size());
    }
  }
}

std::vector<std::pair<Counters::const_iterator, std::size_t>> Orderer::common(
    std::size_t node) const {
  std::vector<std::pair<Counters::const_iterator, std::size_t>> found;
  std::map<std::pair<std::string, std::string>, std::size_t> activations;
  const auto add = [&](const ShownFrame& frame, std::size_t depth) {
    const std::size_t activation = activations[{frame.name, frame.file}]++;
    for (auto at = counters_.lower_bound({frame.name, frame.file, activation, ""});
         at != counters_.end() && at->first.function == frame.name &&
         at->first.file == frame.file && at->first.activation == activation;
         ++at) {
      found.emplace_back(at, depth);
    }
  };
  for (std::size_t depth = 0; depth < way_.size(); ++depth) {
    add(tree_.nodes[way_[depth]].frame, depth);
  }
  const auto& children = tree_.nodes[node].children;
  const ShownFrame& first = tree_.nodes[children.front()].frame;
  if (std::all_of(children.begin(), children.end(), [&](std::size_t child) {
        const ShownFrame& frame = tree_.nodes[child].frame;
        return frame.name == first.name && frame.file == first.file;
      })) {
    add(first, way_.size());
  }
  return found;
}

std::optional<Testimony> Orderer::hear(const Counter& counter,
                                       const std::vector<std::size_t>& children) const {
  Testimony testimony;
  for (const std::size_t child : children) {
    const TreeNode& node = tree_.nodes[child];
    if (node.ranks.size() != node.count) {
      return std::nullopt;
    }
    Range range;
    for (const std::int32_t rank : node.ranks) {
      const auto number = counter.of(rank);
      if (!number) {
        return std::nullopt;
      }
      range.add(*number);
    }
    testimony.ranges.push_back(range);
  }
  set_places(testimony);
  return testimony.distinct > 1 ? std::optional(std::move(testimony)) : std::nullopt;
}

void Orderer::order(std::size_t node) {
  auto& children = tree_.nodes[node].children;
  std::vector<Testimony> heard;
  for (const auto& [at, depth] : common(node)) {
    if (auto testimony = hear(at->second, children)) {
      testimony->variable = &at->first;
      testimony->depth = depth;
      testimony->order = at->second.order;
      heard.push_back(std::move(*testimony));
    }
  }
  if (heard.empty()) {
    return;
  }
  // The variable that distinguishes the most; among equals, the outermost loop's.
  const Testimony& best =
      *std::min_element(heard.begin(), heard.end(), [](const Testimony& a, const Testimony& b) {
        return std::tuple(b.distinct, a.depth, a.order) < std::tuple(a.distinct, b.depth, b.order);
      });
  if (std::any_of(heard.begin(), heard.end(),
                  [&best](const Testimony& other) { return contradict(best, other); })) {
    return;
  }
  std::vector<std::pair<std::size_t, std::size_t>> sorted;  // place, child
  for (std::size_t at = 0; at < children.size(); ++at) {
    const Range& range = best.ranges[at];
    tree_.nodes[children[at]].counter =
        range.low == range.high
            ? fmt::format("{}={}", best.variable->name, range.low)
            : fmt::format("{}={} to {}", best.variable->name, range.low, range.high);
    tree_.nodes[children[at]].behind = best.places[at] == 0;
    sorted.emplace_back(best.places[at], children[at]);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t at = 0; at < sorted.size(); ++at) {
    children[at] = sorted[at].second;
  }
}

}  // namespace

void order_in_time(const JobView& view, PrefixTree& tree) {
  Orderer(view, tree).order_all();
}

}  // namespace oddrank::report
