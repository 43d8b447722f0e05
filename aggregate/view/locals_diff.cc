#include "aggregate/view/locals_diff.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate/view/plain_locals.h"
#include "aggregate/view/rank_set.h"
#include "base/parse_number.h"

namespace oddrank::aggregate {
namespace {

struct Seen {
  std::map<std::string, std::vector<std::int32_t>> values;  // -> ranks
  std::string place;
  std::size_t depth = 0;
  std::size_t order = 0;
};

// The ranks that have a variable of one place, by an example of each value.
struct SeenAtPlace {
  PlainLocal variable;
  std::map<snapshot::StringId, std::pair<PlainLocal, std::vector<std::int32_t>>> values;
  std::size_t last = 0;  // a number that grows with each rank: the last place is the one shown
};

// Makes texts once for each place and value: a large job has as many locals as ranks.
std::map<Variable, Seen> read_variables(const JobView& view,
                                        const std::vector<std::size_t>& ranks) {
  PlainLocals locals(view);
  std::map<std::pair<const Activation*, snapshot::StringId>, SeenAtPlace> by_place;
  std::size_t count = 0;
  for (const std::size_t at : ranks) {
    for (const PlainLocal& local : locals.of(view.rank(at))) {
      SeenAtPlace& seen = by_place[{local.frame, local.name}];
      seen.variable = local;
      seen.last = ++count;
      auto& [example, having] = seen.values[local.value];
      example = local;
      having.push_back(view.rank(at).rank);
    }
  }
  std::vector<const SeenAtPlace*> in_order;
  in_order.reserve(by_place.size());
  for (const auto& [key, seen] : by_place) {
    in_order.push_back(&seen);
  }
  std::ranges::sort(in_order, {}, &SeenAtPlace::last);
  std::map<Variable, Seen> variables;
  for (const SeenAtPlace* each : in_order) {
    Seen& seen = variables[locals.variable_of(each->variable)];
    for (const auto& [value, example] : each->values) {
      auto& having = seen.values[locals.value_of(example.first)];
      having.insert(having.end(), example.second.begin(), example.second.end());
    }
    seen.place = each->variable.frame->place;
    seen.depth = each->variable.depth;
    seen.order = each->variable.order;
  }
  return variables;
}

bool tells_nothing(const std::vector<LocalValue>& values, std::size_t world) {
  std::vector<RankNumber> numbers;
  for (const LocalValue& value : values) {
    const auto number = parse_number<std::int64_t>(value.value);
    if (!number) {
      return false;
    }
    for (const std::int32_t rank : value.ranks) {
      numbers.push_back({rank, *number});
    }
  }
  return follows_rank(numbers, world);
}

std::vector<LocalValue> sorted_values(const Seen& seen) {
  std::vector<LocalValue> values;
  for (const auto& [value, ranks] : seen.values) {
    values.push_back({value, ranks});
    std::ranges::sort(values.back().ranks);
  }
  std::ranges::stable_sort(values, [](const LocalValue& a, const LocalValue& b) {
    if (a.ranks.size() != b.ranks.size()) {
      return a.ranks.size() > b.ranks.size();
    }
    const auto left = parse_number<std::int64_t>(a.value);
    const auto right = parse_number<std::int64_t>(b.value);
    return left && right ? *left > *right : a.value < b.value;
  });
  return values;
}

// Weighs a difference: first a counter that lags, then another number on which most ranks agree,
// then anything on which most agree, then the rest. The lower, the more telling.
int weigh(LocalDifference& difference) {
  const auto& values = difference.values;
  std::size_t total = 0;
  bool counters = true;
  for (const LocalValue& value : values) {
    total += value.ranks.size();
    counters = counters && parse_number<std::int64_t>(value.value).has_value();
  }
  const bool most_agree = 2 * values.front().ranks.size() > total;
  // If two ranks differ, the lower number is the one behind.
  if (counters && (most_agree || values.size() == 2)) {
    for (const LocalValue& value : values) {
      if (*parse_number<std::int64_t>(value.value) <
          *parse_number<std::int64_t>(values.front().value)) {
        difference.behind.insert(difference.behind.end(), value.ranks.begin(), value.ranks.end());
      }
    }
    std::ranges::sort(difference.behind);
    return difference.behind.empty() ? 1 : 0;
  }
  return most_agree ? 2 : 3;
}

}  // namespace

std::string LocalDifference::words() const {
  constexpr std::size_t kMaxValues = 4;
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < kMaxValues; ++i) {
    text += fmt::format("{}{}={} on {}", i == 0 ? "" : "; ", name, values[i].value,
                        format_ranks(values[i].ranks));
  }
  if (values.size() > kMaxValues) {
    text += fmt::format("; {} more values", values.size() - kMaxValues);
  }
  return text;
}

std::vector<LocalDifference> diff_locals(const JobView& view,
                                         const std::vector<std::size_t>& ranks) {
  const std::map<Variable, Seen> variables = read_variables(view, ranks);
  // With its weight, the number of frames further in, and its place in the source.
  std::vector<std::pair<std::tuple<int, std::size_t, std::size_t>, LocalDifference>> found;
  for (const auto& [variable, seen] : variables) {
    if (seen.values.size() < 2) {
      continue;
    }
    LocalDifference row{variable.name, variable.function, seen.place, sorted_values(seen), {}};
    if (!tells_nothing(row.values, view.expected())) {
      const int weight = weigh(row);
      found.emplace_back(std::tuple(weight, seen.depth, seen.order), std::move(row));
    }
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LocalDifference> differences;
  for (auto& [order, row] : found) {
    // The same name with the same values in a caller adds nothing.
    const auto known = std::ranges::find(differences, row.words(), &LocalDifference::words);
    if (known == differences.end() && differences.size() < kMaxLocalDifferences) {
      differences.push_back(std::move(row));
    }
  }
  return differences;
}

}  // namespace oddrank::aggregate
