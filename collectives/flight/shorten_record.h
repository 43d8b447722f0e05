// Makes a flight record small enough for a capture of thousands of ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "snapshot/flight_record.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Returns how many entries of each rank fit, in a job of that many ranks (-1: unknown).
std::size_t flight_entry_limit(std::int32_t world_size);

// Keeps the newest `most` entries, each entry that has not ended, and the last one of each group;
// marks the record if others were left out.
void shorten_record(snapshot::FlightRecord& record,
                    const snapshot::Tables& texts,
                    std::size_t most);

}  // namespace oddrank::collectives
