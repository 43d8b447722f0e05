#include "aggregate/rules/all_rules.h"

#include <algorithm>
#include <iterator>

#include "aggregate/rules/local_story.h"

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

std::vector<Finding> ask(const KindRow& row, RuleInput& about) {
  if (row.rule == nullptr) {
    return {};
  }
  about.kind = row.kind;
  about.told.clear();
  std::ranges::copy_if(
      about.suspects, std::back_inserter(about.told),
      [&about, &row](std::size_t at) { return local_story(about, at) == row.kind; });
  return about.told.empty() && !row.always ? std::vector<Finding>() : row.rule(about);
}

std::vector<Rule> job_rules() {
  std::vector<Rule> rules;
  for (const auto field : {&KindRow::job_rule, &KindRow::also}) {
    for (const KindRow& row : kKinds) {
      if (row.*field != nullptr && std::ranges::count(rules, row.*field) == 0) {
        rules.push_back(row.*field);
      }
    }
  }
  return rules;
}

}  // namespace oddrank::aggregate
