// What one rank's flight recorder held: a ring of the collectives that it has called, as PyTorch
// dumps it. Plain data, read from files (collectives/read_flight_record.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/intern_table.h"
#include "snapshot/tables.h"

namespace oddrank::snapshot {

enum class TextId : std::uint32_t {};  // 0 is the empty text

// Texts of many records, each once. Move-only.
class FlightTexts {
 public:
  FlightTexts() { texts_.intern(""); }
  TextId id(std::string_view text) { return texts_.intern(text); }
  std::string_view text(TextId id) const { return texts_[id]; }

 private:
  InternTable<std::string, std::string_view, TextId, StringHash> texts_;
};

enum class FlightState : std::uint8_t { kScheduled = 0, kStarted, kCompleted };

struct FlightEntry {
  std::int64_t record = -1;    // of the process, ascending from 0
  std::int64_t sequence = -1;  // of collectives within the group
  std::int64_t created_ns = 0;
  std::int64_t input_count = 0;  // numbers in all input tensors together
  std::int64_t output_count = 0;
  std::uint32_t group = 0;  // index into FlightRecord::groups
  TextId op{};              // "all_reduce", "send", "coalesced": without the backend
  TextId backend{};         // "nccl", "gloo"; "" = not said
  TextId input_sizes{};     // "[4, 2], [4]"; "" = none
  TextId output_sizes{};
  TextId input_types{};  // "Float"; "" = none
  TextId output_types{};
  TextId place{};          // "train (train.py:88)": the program's own innermost frame; "" = unknown
  std::int32_t peer = -1;  // of a send or receive: the other side, a rank within the group
  FlightState state = FlightState::kScheduled;
  bool is_p2p = false;
  bool retired = false;  // the watchdog has looked at its end, good or bad
};

struct FlightGroup {
  TextId name{};  // "0", or a hash
  TextId description{};
  std::vector<std::int32_t> ranks;  // global, ascending; empty = not said (gloo does not)
};

struct FlightRecord {
  std::int32_t rank = -1;
  std::string source;   // file name
  std::string version;  // "2.10"; "" = not said
  std::vector<FlightGroup> groups;
  std::vector<FlightEntry> entries;  // oldest first
  bool cut = false;                  // the file ends early; these are the entries before
  bool has_entries = false;          // false: the dump was made without them
};

}  // namespace oddrank::snapshot
