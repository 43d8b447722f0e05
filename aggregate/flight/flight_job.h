// The flight recorders of a job side by side: which groups there are, and how far each of their
// members got in each.
//
// Ranks are compared by (group, sequence number within it) and by nothing else: numbers of records
// count what one process did, and differ between ranks that are in different groups. A recorder is
// a ring; what fell off it is known by its first record's number, and is not "missing".
//
// Groups are the same if they have the same name and members. Gloo does not write the members down:
// then the default group is everybody who gave a dump, and of any other group only those are known
// to be members who have used it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/flight_calls.h"
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
  // Collectives by ascending number, each once; of those that are called as one (coalesced) the
  // last stands for all.
  std::vector<const FlightEntry*> calls;
  // Highest number that was enqueued; one less than the lowest of all if nothing was; -1: unknown
  // (nothing of this group is in a ring that has lost its beginning).
  std::int64_t enqueued = -1;
  std::int64_t pending = -1;  // lowest number that has not ended; -1 = none

  // It is known to have stopped before that number. A cut file may have lost the newest calls.
  bool is_before(std::int64_t sequence) const {
    return enqueued >= 0 && enqueued < sequence && !record->cut;
  }

  const FlightEntry* at(std::int64_t sequence) const;  // nullptr: not in the ring
};

struct FlightMembers {
  std::string name;
  std::string description;
  std::vector<std::int32_t> ranks;  // ascending; those known
  bool ranks_known = false;         // all of them are known
  bool ranks_told = false;          // by a dump; the default group's may be concluded
  bool is_default = false;
  std::vector<FlightTrack> tracks;    // of the members who gave a dump, by rank
  std::vector<std::int32_t> no_dump;  // members who did not
  std::int64_t first = 1;             // lowest number seen
  std::int64_t enqueued = -1;         // highest of all

  const FlightTrack* track(std::int32_t rank) const;
  // "default group", "group tp (1) {4-7}".
  std::string words() const;
};

struct FlightJob {
  const Tables* texts = nullptr;
  std::vector<const FlightRecord*> records;  // by rank, one a rank
  std::vector<FlightMembers> groups;         // largest first, then by name
  std::vector<std::string> notes;
  // By record, then by its own number of the group: index into `groups`.
  std::vector<std::vector<std::size_t>> group_of;

  const FlightRecord* record(std::int32_t rank) const;
};

// Its ring has lost nothing: what it does not hold was never called.
bool is_whole(const FlightRecord& record);

// Borrows both. Records without a rank, and all but the newest of a rank, are left out with a note.
FlightJob make_flight_job(const std::vector<FlightRecord>& records, const Tables& texts);

}  // namespace oddrank::aggregate
