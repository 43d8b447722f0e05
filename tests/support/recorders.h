// Flight recorders of a made-up job, filled call by call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/capture.h"
#include "snapshot/carrier.h"
#include "snapshot/rank_text.h"

namespace oddrank::tests {

class Recorders {
 public:
  using Ranks = std::vector<std::int32_t>;

  snapshot::Tables texts;
  std::vector<snapshot::FlightRecord> records;
  std::string description = "undefined";  // of new groups
  std::uint64_t created_us = 0;           // of calls

  explicit Recorders(std::int32_t ranks) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      snapshot::FlightRecord& record = records.emplace_back();
      record.rank = rank;
      record.source = texts.string("rank_" + std::to_string(rank));
      record.version = texts.string("2.10");
      record.has_entries = true;
    }
  }

  // Records a call of that group on each of these ranks; `ended` or still open.
  void call(const std::string& group,
            const Ranks& members,
            const Ranks& on,
            const std::string& op,
            bool ended,
            std::int64_t size = 4) {
    for (const std::int32_t rank : on) {
      snapshot::FlightEntry entry = entry_of(rank, group, members, op, ended);
      entry.sequence = ++sequences_[{rank, group}];
      entry.input_count = entry.output_count = size;
      entry.input_sizes = entry.output_sizes = texts.string("[" + std::to_string(size) + "]");
      entry.input_types = entry.output_types = texts.string("Float");
      records[static_cast<std::size_t>(rank)].entries.push_back(entry);
    }
  }

  void transfer(std::int32_t rank,
                const Ranks& members,
                const std::string& op,
                std::int32_t peer,
                bool ended = false) {
    snapshot::FlightEntry entry = entry_of(rank, "0", members, op, ended);
    entry.sequence = 0;
    entry.is_p2p = true;
    entry.peer = peer;
    records[static_cast<std::size_t>(rank)].entries.push_back(entry);
  }

  // Drops the oldest calls from the ring.
  void lose(std::int32_t rank, std::size_t count) {
    auto& entries = records[static_cast<std::size_t>(rank)].entries;
    entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count));
  }

  // Adds them to a capture as an agent does.
  void into(snapshot::Capture& capture, std::uint64_t written_us) const {
    snapshot::Carrier carrier(texts, capture.tables);
    for (const snapshot::FlightRecord& record : records) {
      capture.collectives.flight.push_back(carrier.row(record));
      capture.collectives.flight.back().written_us = written_us;
    }
  }

  void remove(std::int32_t rank) { records.erase(records.begin() + rank); }

 private:
  snapshot::FlightEntry entry_of(std::int32_t rank,
                                 const std::string& group,
                                 const Ranks& members,
                                 const std::string& op,
                                 bool ended) {
    snapshot::FlightRecord& record = records[static_cast<std::size_t>(rank)];
    snapshot::FlightEntry entry;
    const auto name = texts.string(group);
    const auto at = std::find_if(record.groups.begin(), record.groups.end(),
                                 [name](const auto& one) { return one.name == name; });
    entry.group = static_cast<std::uint32_t>(at - record.groups.begin());
    if (at == record.groups.end()) {
      record.groups.push_back(
          {name, texts.string(description), texts.string(snapshot::rank_text(members))});
    }
    entry.record = numbers_[rank]++;
    entry.op = texts.string(op);
    entry.backend = texts.string("nccl");
    entry.created_ns = static_cast<std::int64_t>(created_us) * 1000;
    entry.state = ended ? snapshot::FlightState::kCompleted : snapshot::FlightState::kScheduled;
    return entry;
  }

  std::map<std::pair<std::int32_t, std::string>, std::int64_t> sequences_;
  std::map<std::int32_t, std::int64_t> numbers_;
};

}  // namespace oddrank::tests
