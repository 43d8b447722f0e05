#include "aggregate/rules/all_rules.h"

#include <algorithm>
#include <iterator>

#include "aggregate/blame/local_story.h"

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

std::vector<Finding> ask(const KindRow& row, RuleInput& input) {
  if (row.rule == nullptr) {
    return {};
  }
  input.kind = row.kind;
  input.with_story.clear();
  std::ranges::copy_if(
      input.about.ranks, std::back_inserter(input.with_story),
      [&input, &row](std::size_t at) { return local_story(input, at) == row.kind; });
  return input.with_story.empty() && !row.always ? std::vector<Finding>() : row.rule(input);
}

std::vector<Rule> job_rules() {
  std::vector<Rule> rules;
  for (const KindRow& row : kKinds) {
    if (row.job_rule != nullptr && std::ranges::count(rules, row.job_rule) == 0) {
      rules.push_back(row.job_rule);
    }
  }
  return rules;
}

}  // namespace oddrank::aggregate
