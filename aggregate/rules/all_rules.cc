#include "aggregate/rules/all_rules.h"

#include <algorithm>

namespace oddrank::aggregate {
namespace {

constexpr bool is_in_order() {
  for (std::size_t at = 0; at < kKinds.size(); ++at) {
    if (static_cast<std::size_t>(kKinds[at].kind) != at || kKinds[at].rule == nullptr) {
      return false;
    }
  }
  return kKinds.back().kind == Kind::kUnknown;
}
static_assert(is_in_order(), "a row for each kind, in the order of the enumeration");

struct RuleList {
  std::array<Rule, 2 * kKinds.size()> rules = {};
  std::size_t size = 0;

  constexpr void add(Rule rule);
};

constexpr void RuleList::add(Rule rule) {
  for (std::size_t at = 0; at < size; ++at) {
    if (rules[at] == rule) {
      return;
    }
  }
  rules[size] = rule;
  ++size;
}

constexpr RuleList list_rules() {
  RuleList list;
  for (const KindRow& row : kKinds) {
    list.add(row.rule);
  }
  for (const KindRow& row : kKinds) {
    if (row.also != nullptr) {
      list.add(row.also);
    }
  }
  return list;
}

constexpr RuleList kRules = list_rules();

}  // namespace

const KindRow& row_of(Kind kind) {
  return kKinds[std::min(static_cast<std::size_t>(kind), kKinds.size() - 1)];
}

std::string_view kind_name(Kind kind) {
  return row_of(kind).name;
}

Tone kind_tone(Kind kind) {
  return row_of(kind).tone;
}

bool is_stall(Kind kind) {
  return row_of(kind).pace == Pace::kStands;
}

std::span<const Rule> all_rules() {
  return {kRules.rules.data(), kRules.size};
}

}  // namespace oddrank::aggregate
