#include "aggregate/rules/left_pattern.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "aggregate/evidence/common_order.h"
#include "aggregate/flight/flight_capture.h"
#include "aggregate/flight/flight_history.h"

namespace oddrank::aggregate {

std::vector<std::size_t> left_their_pattern(const RuleInput& input,
                                            const std::vector<std::size_t>& ranks) {
  std::vector<std::size_t> found;
  if (const FlightJob* job = input.recorded()) {
    for (const std::int32_t rank : left_own_pattern(*job, input.view.numbers_of(ranks))) {
      found.push_back(input.view.index_of(rank));
    }
  }
  return found;
}

std::vector<std::size_t> left_common_order(const RuleInput& input,
                                           const std::vector<std::size_t>& ranks) {
  const std::vector<std::size_t> outside = outside_common_order(input.view);
  std::vector<std::size_t> found;
  std::set_intersection(ranks.begin(), ranks.end(), outside.begin(), outside.end(),
                        std::back_inserter(found));
  return found.size() < ranks.size() ? found : std::vector<std::size_t>();
}

std::string pattern_words(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  const bool one = ranks.size() == 1;
  return fmt::format("; {} {} not called what {} own calls before foretell",
                     ranks_words(input, ranks), one ? "has" : "have", one ? "its" : "their");
}

}  // namespace oddrank::aggregate
