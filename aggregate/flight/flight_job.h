// The flight recorders of a job side by side: which groups there are, and how far each member got
// in each of them.
//
// Ranks are compared by (group, sequence number within it) and by nothing else: record numbers
// count what one process did, and differ between ranks that are in different groups. A recorder is
// a ring. The number of its first record shows what was overwritten; that is not "missing".
//
// Groups are the same if they have the same name and members. Gloo does not record the members: its
// default group has every rank that gave a dump, any other group the ranks that have used it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/flight_record.h"
#include "snapshot/tables.h"

namespace oddrank::aggregate {

using snapshot::FlightEntry;
using snapshot::FlightRecord;
using snapshot::has_ended;
using snapshot::Tables;

// One rank in one group.
struct FlightTrack {
  std::int32_t rank = -1;
  const FlightRecord* record = nullptr;
  // Collectives by ascending number, each once; the last of several coalesced calls stands for all.
  std::vector<const FlightEntry*> calls;
  // Highest number that was enqueued; if none was, one less than the lowest number of the group.
  // -1: unknown (the ring has lost its beginning and holds nothing of this group).
  std::int64_t enqueued = -1;
  std::int64_t pending = -1;  // lowest number that has not ended; -1 = none

  // Returns whether the rank is known not to have reached that number. A truncated file may have
  // lost the newest calls.
  bool is_before(std::int64_t sequence) const;

  const FlightEntry* at(std::int64_t sequence) const;  // nullptr: not in the ring
};

struct FlightMembers {
  std::string name;
  std::string description;
  std::vector<std::int32_t> ranks;  // ascending; only those that are known
  bool ranks_known = false;         // all of them are known
  bool ranks_recorded = false;      // a dump says so; the default group's members may be inferred
  bool is_default = false;
  std::vector<FlightTrack> tracks;    // of the members that gave a dump, by rank
  std::vector<std::int32_t> no_dump;  // members that gave none
  std::int64_t first = 1;             // lowest number seen
  std::int64_t enqueued = -1;         // highest of all

  const FlightTrack* track(std::int32_t rank) const;
  // Returns "default group" or "group tp (1) {4-7}".
  std::string words() const;
};

struct FlightJob {
  const Tables* texts = nullptr;
  std::vector<const FlightRecord*> records;  // by rank, one for each
  std::vector<FlightMembers> groups;         // largest first, then by name
  std::vector<std::string> notes;
  // Index into `groups`, by record, then by the record's own number of the group.
  std::vector<std::vector<std::size_t>> group_of;

  static constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);
  static constexpr std::int32_t kNoPeer = -1;

  // Returns the index of its record; records.size() if there is none.
  std::size_t index_of(std::int32_t rank) const;
  const FlightRecord* record(std::int32_t rank) const;  // null: there is none
  bool has_calls() const;
  // Returns the group of a call in the record with this index.
  std::size_t group_at(std::size_t record, const FlightEntry& entry) const;
  // Returns the other side of a transfer in that group, as a rank of the job; kNoPeer if unknown,
  // and for collectives.
  std::int32_t peer_in(std::size_t group, const FlightEntry& entry) const;
};

// Returns whether the ring has lost nothing: a call that it does not hold was never made.
bool is_whole(const FlightRecord& record);

// Borrows both. Leaves out, with a note, records without a rank and all but the newest record of a
// rank.
FlightJob make_flight_job(const std::vector<FlightRecord>& records, const Tables& texts);

}  // namespace oddrank::aggregate
