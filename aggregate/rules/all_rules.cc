#include "aggregate/rules/all_rules.h"

#include <array>

namespace oddrank::aggregate {
namespace {

constexpr auto kRules = std::to_array<Rule>({
    healthy,
    slow,
    missing_rank,
    stopped_rank,
    skipped_collective,
    mismatched_collective,
    order_cycle,
    input_stall,
    child_deadlock,
    io_stall,
    file_lock,
    lock_deadlock,
    rendezvous,
    external_wait,
    failed_rank,
    device_stall,
    busy_rank,
    below_host,
    recorded,
    unknown,
});

}  // namespace

std::span<const Rule> all_rules() {
  return kRules;
}

}  // namespace oddrank::aggregate
