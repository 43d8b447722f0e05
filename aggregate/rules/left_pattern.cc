#include "aggregate/rules/left_pattern.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "aggregate/evidence/common_order.h"
#include "aggregate/flight/flight_facts.h"
#include "aggregate/flight/flight_history.h"
#include "aggregate/flight/left_out_transfer.h"
#include "aggregate/rules/all_rules.h"

namespace oddrank::aggregate {
namespace {

std::string left_out_words(const RuleInput& input, const LeftOutTransfer& one) {
  const auto name = [&input](std::int32_t rank) {
    return JobView::name(input.rank(input.view.index_of(rank)));
  };
  const std::string number =
      one.number < 0 ? "" : fmt::format(", number {} between the two", one.number);
  const std::string waits_at = one.waits_at.empty() ? "" : ", at " + one.waits_at;
  const std::string place =
      one.place.empty() ? "" : fmt::format(", which it made at {} in the steps before", one.place);
  return fmt::format(
      "{} left out a {} rank {} in {}{}; rank {} waits for it{}{}, and all other calls of both are "
      "those of the steps before",
      name(one.rank), one.is_send ? "send to" : "recv from", one.partner, one.group, place,
      one.partner, number, waits_at);
}

}  // namespace

Deviation left_their_pattern(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  const FlightJob* job = input.recorded();
  Deviation found;
  if (job != nullptr) {
    found.ranks = input.view.indices_of(left_own_pattern(*job, input.view.numbers_of(ranks)));
  }
  if (!found.ranks.empty()) {
    const bool one = found.ranks.size() == 1;
    found.how =
        fmt::format("; {} {} not called what {} own calls before foretell",
                    ranks_words(input, found.ranks), one ? "has" : "have", one ? "its" : "their");
  }
  return found;
}

Deviation left_common_order(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  if (!input.outside_order) {
    input.outside_order = outside_common_order(input.view);
  }
  Deviation found;
  std::ranges::set_intersection(ranks, *input.outside_order, std::back_inserter(found.ranks));
  if (found.ranks.empty() || found.ranks.size() == ranks.size()) {
    return {};
  }
  found.how = fmt::format(
      "; by the numbers of calls in each group and the places in the program, {} left the common "
      "order",
      ranks_words(input, found.ranks));
  return found;
}

Deviation on_every_way(const RuleInput& input, const Circle& circle) {
  Deviation found{cuts_of(input.graph, circle), {}};
  if (found.ranks.empty() || found.ranks.size() == circle.ranks.size()) {
    return {};
  }
  found.how = fmt::format("; every way round leads through {}", ranks_words(input, found.ranks));
  return found;
}

std::optional<Finding> left_out_transfer(const RuleInput& input,
                                         const std::vector<std::size_t>& circle) {
  const FlightJob* job = input.recorded();
  if (job == nullptr || any_moved(input, circle)) {
    return std::nullopt;
  }
  const auto found = left_out_transfers(*job, input.view.numbers_of(circle));
  const bool one_rank = !found.empty() && std::ranges::all_of(found, [&](auto& one) {
    return one.rank == found.front().rank;
  });
  if (!one_rank || !is_current(input.view)) {
    return std::nullopt;
  }
  const std::size_t at = input.view.index_of(found.front().rank);
  Finding finding = accuse(input, Kind::kP2pOrder, {at}, Evidence::kNumbers);
  if (finding.confidence == Confidence::kNone) {
    return std::nullopt;
  }
  finding.summary = left_out_words(input, found.front());
  finding.history = histories_of(*job, numbers_of(finding.culprits));
  finding.advice = {fmt::format("look for a branch around {} on rank {}",
                                found.front().place.empty() ? "this call" : found.front().place,
                                found.front().rank)};
  finding.disproves = {"one of these calls returning"};
  return finding;
}

}  // namespace oddrank::aggregate
