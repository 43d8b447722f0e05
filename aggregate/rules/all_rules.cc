#include "aggregate/rules/all_rules.h"

#include <algorithm>

namespace oddrank::aggregate {
namespace {

constexpr bool is_in_order() {
  for (std::size_t at = 0; at < kKinds.size(); ++at) {
    const KindRow& row = kKinds[at];
    if (static_cast<std::size_t>(row.kind) != at ||
        (row.rule == nullptr && row.job_rule == nullptr)) {
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
  if (rule != nullptr) {
    rules[size] = rule;
    ++size;
  }
}

constexpr RuleList list_suspect_rules() {
  RuleList list;
  for (const KindRow& row : kKinds) {
    list.add(row.rule);
  }
  return list;
}

constexpr RuleList list_job_rules() {
  RuleList list;
  for (const KindRow& row : kKinds) {
    list.add(row.job_rule);
  }
  for (const KindRow& row : kKinds) {
    list.add(row.also);
  }
  return list;
}

constexpr RuleList kSuspectRules = list_suspect_rules();
constexpr RuleList kJobRules = list_job_rules();

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
  return row_of(kind).progress == Progress::kStuck;
}

std::span<const Rule> suspect_rules() {
  return {kSuspectRules.rules.data(), kSuspectRules.size};
}

std::span<const Rule> job_rules() {
  return {kJobRules.rules.data(), kJobRules.size};
}

}  // namespace oddrank::aggregate
