// The contents of one rank's flight recorder: a ring of the collectives that it has called, as
// PyTorch dumps it. Plain data, read from files (collectives/flight/read_flight_record.h).
//
// Predicates on single calls of a flight recorder, for both the readers and the analysis.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "snapshot/ids.h"
#include "snapshot/tables.h"

namespace oddrank::snapshot {

enum class FlightState : std::uint8_t { kScheduled = 0, kStarted, kCompleted };

struct FlightEntry {
  std::int64_t record = -1;      // of the process, ascending from 0
  std::int64_t sequence = -1;    // of collectives within the group
  std::int64_t created_ns = 0;   // rounded to seconds for ended calls if not all were kept
  std::int64_t input_count = 0;  // elements of all input tensors together
  std::int64_t output_count = 0;
  std::uint32_t group = 0;  // index into FlightRecord::groups
  StringId op{};            // "all_reduce", "send", "coalesced": without the backend
  StringId backend{};       // "nccl", "gloo"; "" = not recorded
  StringId input_sizes{};   // "[4, 2], [4]"; "" = none
  StringId output_sizes{};
  StringId input_types{};  // "Float"; "" = none
  StringId output_types{};
  StringId place{};        // "train (train.py:88)": the program's own innermost frame; "" = unknown
  std::int32_t peer = -1;  // the other side of a send or receive, a rank within the group
  FlightState state = FlightState::kScheduled;
  bool is_p2p = false;
  bool retired = false;  // the watchdog has noted its end, good or bad
  // The rest is read from memory only; dumps have most of it, too, but nothing needs it.
  std::int64_t transfer = -1;    // number of sends and receives within the group
  std::int64_t operation = -1;   // number of the operation, within coalesced calls as well
  std::int64_t timeout_ms = -1;  // -1 = unknown
  std::int64_t started_ns = 0;   // when the process noticed it; 0 = it has not
  std::int64_t completed_ns = 0;
  StringId thread{};  // name of the thread that made the call

  bool operator==(const FlightEntry&) const = default;
};

struct FlightGroup {
  StringId name{};  // "0", or a hash
  StringId description{};
  // Global ranks in ascending order (snapshot/rank_text.h): thousands of ranks share the text of
  // the group of all ranks. Empty: not recorded (gloo does not record them).
  StringId members{};
  // In memory, each backend of a group counts separately; "" in a dump.
  StringId backend{};
  // From the recorder's status, which lags behind the calls; -1 = not read.
  std::int64_t enqueued = -1;
  std::int64_t started = -1;
  std::int64_t completed = -1;

  bool operator==(const FlightGroup&) const = default;
};

struct FlightRecord {
  std::int32_t rank = -1;
  std::uint32_t node = 0;        // index into Capture::nodes: the node on which it was read
  pid_t pid = 0;                 // the rank's process, in the agent's pid namespace; 0 = unknown
  StringId source{};             // file name, or "memory"
  StringId version{};            // "2.10"; "" = not recorded
  std::uint64_t written_us = 0;  // CLOCK_REALTIME, by the file; 0 = unknown
  std::vector<FlightGroup> groups;
  std::vector<FlightEntry> entries;  // oldest first
  bool cut = false;                  // the file ends early; these are the entries before
  bool has_entries = false;          // false: the dump was made without them
  // Read from the rank's memory together with its stacks, not from a file of another time.
  bool from_memory = false;
  bool shortened = false;  // entries that have ended were left out of the capture

  bool operator==(const FlightRecord&) const = default;
};

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
