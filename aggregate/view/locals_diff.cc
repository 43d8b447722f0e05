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

std::optional<std::int64_t> as_counter(const std::string& value) {
  return parse_number<std::int64_t>(value);
}

bool tells_nothing(const std::vector<LocalValue>& values, std::size_t world) {
  std::vector<RankNumber> numbers;
  for (const LocalValue& value : values) {
    const auto number = as_counter(value.value);
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
    std::sort(values.back().ranks.begin(), values.back().ranks.end());
  }
  std::stable_sort(values.begin(), values.end(), [](const LocalValue& a, const LocalValue& b) {
    if (a.ranks.size() != b.ranks.size()) {
      return a.ranks.size() > b.ranks.size();
    }
    const auto left = as_counter(a.value);
    const auto right = as_counter(b.value);
    return left && right ? *left > *right : a.value < b.value;
  });
  return values;
}

struct Ranked {
  LocalDifference difference;
  int weight = 0;  // the lower, the more telling
  std::size_t depth = 0;
  std::size_t order = 0;
};

// Weighs a difference: first a counter that lags, then another number on which most ranks agree,
// then anything on which most agree, then the rest.
int weigh(LocalDifference& difference) {
  const auto& values = difference.values;
  std::size_t total = 0;
  bool counters = true;
  for (const LocalValue& value : values) {
    total += value.ranks.size();
    counters = counters && as_counter(value.value).has_value();
  }
  const bool most_agree = 2 * values.front().ranks.size() > total;
  // If two ranks differ, the lower number is the one behind.
  if (counters && (most_agree || values.size() == 2)) {
    for (const LocalValue& value : values) {
      if (*as_counter(value.value) < *as_counter(values.front().value)) {
        difference.behind.insert(difference.behind.end(), value.ranks.begin(), value.ranks.end());
      }
    }
    std::sort(difference.behind.begin(), difference.behind.end());
    return difference.behind.empty() ? 1 : 0;
  }
  return most_agree ? 2 : 3;
}

}  // namespace

std::string LocalDifference::words(std::size_t limit) const {
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < limit; ++i) {
    text += fmt::format("{}{}={} on {}", i == 0 ? "" : "; ", name, values[i].value,
                        format_ranks(values[i].ranks));
  }
  if (values.size() > limit) {
    text += fmt::format("; {} more values", values.size() - limit);
  }
  return text;
}

std::vector<LocalDifference> diff_locals(const JobView& view,
                                         const std::vector<std::size_t>& ranks) {
  std::map<Variable, Seen> variables;
  PlainLocals locals(view);
  for (const std::size_t at : ranks) {
    for (PlainLocal& local : locals.of(view.ranks()[at])) {
      Seen& seen = variables[std::move(local.variable)];
      seen.values[local.value].push_back(view.ranks()[at].rank);
      seen.place = std::move(local.place);
      seen.depth = local.depth;
      seen.order = local.order;
    }
  }
  std::vector<Ranked> found;
  for (const auto& [variable, seen] : variables) {
    if (seen.values.size() < 2) {
      continue;
    }
    Ranked row;
    row.difference.name = variable.name;
    row.difference.function = variable.function;
    row.difference.place = seen.place;
    row.difference.values = sorted_values(seen);
    if (tells_nothing(row.difference.values, view.expected())) {
      continue;
    }
    row.weight = weigh(row.difference);
    row.depth = seen.depth;
    row.order = seen.order;
    found.push_back(std::move(row));
  }
  std::stable_sort(found.begin(), found.end(), [](const Ranked& a, const Ranked& b) {
    return std::tuple(a.weight, a.depth, a.order) < std::tuple(b.weight, b.depth, b.order);
  });
  std::vector<LocalDifference> differences;
  for (Ranked& row : found) {
    // The same name with the same values in a caller adds nothing.
    const std::string words = row.difference.words();
    const bool told = std::any_of(differences.begin(), differences.end(),
                                  [&](const LocalDifference& one) { return one.words() == words; });
    if (!told && differences.size() < kMaxLocalDifferences) {
      differences.push_back(std::move(row.difference));
    }
  }
  return differences;
}

}  // namespace oddrank::aggregate
