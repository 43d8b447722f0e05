#include "aggregate/locals_diff.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/printable.h"
#include "aggregate/rank_set.h"
#include "base/parse_number.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kValueWidth = 40;

// A variable of a frame: which function, which of its activations (0: the outermost), which name.
struct Variable {
  std::string function;
  std::string file;
  std::size_t activation = 0;
  std::string name;
  // NOLINTNEXTLINE(modernize-use-nullptr): version 14 takes the 0 that it compares with for one
  auto operator<=>(const Variable&) const = default;
};

struct Seen {
  std::map<std::string, std::vector<std::int32_t>> values;  // -> ranks
  std::string place;
  std::size_t depth = 0;  // frames further in
  std::size_t order = 0;  // in the source
};

using Variables = std::map<Variable, Seen>;

bool is_plain(std::string_view value) {
  if (value.empty()) {
    return false;
  }
  const char first = value.front();
  return (first >= '0' && first <= '9') || first == '-' || first == '\'' || value == "True" ||
         value == "False" || value == "None" || value == "inf" || value == "nan";
}

// What a launcher makes different on every rank.
bool is_meant_to_differ(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWords = {"rank",   "pid", "port",
                                                      "device", "gpu", "seed"};
  return std::any_of(kWords.begin(), kWords.end(), [name](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

void add_rank(const JobView& view, const RankView& rank, Variables& variables) {
  const auto* sample = rank.sample();
  if (rank.leader == nullptr || sample == nullptr || rank.rank < 0) {
    return;
  }
  const auto& tables = view.capture().tables;
  // Locals are kept with the Python frames: in the merged stack, or beside it on a mismatch.
  const snapshot::Stack& merged = tables.stacks()[sample->stack];
  const bool apart = sample->python_stack != snapshot::StackId{};
  const snapshot::Stack& stack = apart ? tables.stacks()[sample->python_stack] : merged;
  std::map<std::pair<std::string, std::string>, std::size_t> activations;
  auto frames = rank.leader->locals;
  std::sort(frames.begin(), frames.end(),
            [](const auto& a, const auto& b) { return a.frame > b.frame; });  // outermost first
  for (const snapshot::FrameLocals& row : frames) {
    if (row.frame >= stack.frames.size()) {
      continue;
    }
    const ShownFrame frame = view.model().shown(stack.frames[row.frame]);
    const std::size_t activation = activations[{frame.name, frame.file}]++;
    for (std::size_t i = 0; i < row.locals.size(); ++i) {
      const std::string_view value = view.text(row.locals[i].value);
      const std::string name = printable(view.text(row.locals[i].name), kValueWidth);
      if (!is_plain(value) || is_meant_to_differ(name)) {
        continue;
      }
      Seen& seen = variables[{frame.name, frame.file, activation, name}];
      seen.values[printable(value, kValueWidth)].push_back(rank.rank);
      seen.place = frame.place();
      seen.depth = row.frame;
      seen.order = i;
    }
  }
}

std::optional<std::int64_t> as_counter(const std::string& value) {
  return parse_number<std::int64_t>(value);
}

// On every rank the rank's own number, or one that is as far from it as on the others.
bool follows_rank(const std::vector<LocalValue>& values) {
  std::optional<std::int64_t> distance;
  for (const LocalValue& value : values) {
    const auto number = as_counter(value.value);
    if (!number || value.ranks.size() != 1) {
      return false;
    }
    const std::int64_t here = *number - value.ranks.front();
    if (distance && *distance != here) {
      return false;
    }
    distance = here;
  }
  // With two ranks a distance may be chance; that of nothing is not.
  return values.size() > 2 || distance == 0;
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
  int weight = 0;  // the lower, the more it tells
  std::size_t depth = 0;
  std::size_t order = 0;
};

// A counter that lags, another number on which most agree, anything on which most agree, the rest.
int weigh(LocalDifference& difference) {
  const auto& values = difference.values;
  std::size_t total = 0;
  bool counters = true;
  for (const LocalValue& value : values) {
    total += value.ranks.size();
    counters = counters && as_counter(value.value).has_value();
  }
  const bool most_agree = 2 * values.front().ranks.size() > total;
  // Of two ranks that differ, the lower number is the one behind.
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
  Variables variables;
  for (const std::size_t at : ranks) {
    add_rank(view, view.ranks()[at], variables);
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
    if (follows_rank(row.difference.values)) {
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
    // The same name with the same values in a caller says nothing new.
    const std::string words = row.difference.words();
    const bool told = std::any_of(differences.begin(), differences.end(),
                                  [&](const LocalDifference& one) { return one.words() == words; });
    if (!told && differences.size() < kMostDifferences) {
      differences.push_back(std::move(row.difference));
    }
  }
  return differences;
}

}  // namespace oddrank::aggregate
