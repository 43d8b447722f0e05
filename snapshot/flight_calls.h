// Predicates on single calls of a flight recorder, for both the readers and the analysis.
#pragma once

#include <cstdint>
#include <string_view>

#include "snapshot/flight_record.h"
#include "snapshot/tables.h"

namespace oddrank::snapshot {

// Returns whether the call has completed, or nothing is known of its end. The watchdogs of NCCL and
// XCCL also retire calls that they gave up. Recorders without timing events (gloo's) never write
// "completed": there, a retired call has completed; likewise for nccl2 and other backends whose
// calls PyTorch's hooks record. But if such a backend does not tell when calls end (ucc; nccl2
// beside another default backend), its calls are retired as soon as they are made, and show no
// hang.
inline bool has_ended(const FlightEntry& entry, const Tables& texts) {
  if (entry.state == FlightState::kCompleted) {
    return true;
  }
  const auto backend = texts.text(entry.backend);
  const bool may_be_given_up = backend.empty() || backend == "nccl" || backend == "xccl";
  return !may_be_given_up && entry.retired;
}

// Returns whether the call is stuck rather than in progress: the dump was written after `looked_us`
// (CLOCK_REALTIME of the rank's last sample) and the call is older than that, or it had been open
// for five minutes when the dump was written. Neither is true for open calls of a healthy job. A
// recorder from a core file has no time, and belongs to its stacks.
inline bool stood_still(const FlightEntry& entry,
                        const FlightRecord& record,
                        std::uint64_t looked_us) {
  constexpr std::uint64_t kLongUs = 300'000'000;
  if (record.from_memory && looked_us == 0) {
    return true;  // a core file: stacks and calls are of one moment
  }
  if (entry.created_ns <= 0 || record.written_us == 0) {
    return false;
  }
  const std::uint64_t created = static_cast<std::uint64_t>(entry.created_ns) / 1000;
  const bool across_look = record.written_us >= looked_us && created <= looked_us;
  return across_look || (created < record.written_us && record.written_us - created >= kLongUs);
}

// PyTorch's description of the group of all ranks.
inline constexpr std::string_view kDefaultGroup = "default_pg";

}  // namespace oddrank::snapshot
