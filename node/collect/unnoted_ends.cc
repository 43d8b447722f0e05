#include "node/collect/unnoted_ends.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "collectives/flight/shorten_record.h"
#include "snapshot/variable.h"

namespace oddrank::node {
namespace {

// As getCvarBool() of c10d/Utils.hpp reads it.
bool is_set(std::string_view value) {
  std::string lower(value);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char letter) { return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter; });
  constexpr std::array<std::string_view, 5> kTrue = {"1", "t", "true", "y", "yes"};
  return std::find(kTrue.begin(), kTrue.end(), lower) != kTrue.end();
}

}  // namespace

void forget_unnoted_ends(const snapshot::ProcessCapture& process,
                         const snapshot::Tables& tables,
                         std::size_t newest,
                         snapshot::FlightRecord& record) {
  constexpr std::array<std::string_view, 2> kNames = {"TORCH_NCCL_BLOCKING_WAIT",
                                                      "NCCL_BLOCKING_WAIT"};
  const bool blocks = std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return is_set(snapshot::variable_of(tables, process, name).value_or(std::string_view()));
  });
  if (!blocks) {
    return;
  }
  for (snapshot::FlightEntry& entry : record.entries) {
    if (tables.text(entry.backend) == "nccl") {
      entry.state = snapshot::FlightState::kCompleted;
    }
  }
  if (newest != 0) {
    collectives::shorten_record(record, tables, newest);
  }
}

}  // namespace oddrank::node
