// Writes a flight record in the format of PyTorch's own dumps (version 2.10, a pickle), for other
// programs that analyse such dumps: torchfrtrace reads it.
#pragma once

#include <string>

#include "snapshot/flight_record.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Returns the file's contents. What a record does not keep is missing: it has only the program's
// innermost frame of a call's stack, each run of equal types once, and only the first 200 bytes of
// a list of sizes.
std::string write_flight_record(const snapshot::FlightRecord& record,
                                const snapshot::Tables& texts);

}  // namespace oddrank::collectives
