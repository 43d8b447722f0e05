// Dumps of PyTorch's flight recorder: pickle or JSON, of all versions (torch 2.2 to 2.13), also
// such as other tools wrote again. docs/flight-recorder.md lists what is read.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/flight_record.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// `source`: the file's name; the number behind "rank" in it, else its last number, is the rank
// (nccl_trace_rank_12, _dump_3.json). Texts
// go into `texts`, which the record refers to. Keys that are not known are ignored, those that are
// missing keep their defaults. kBadData: no dump, or one that cannot be read; `what` says why.
Result<snapshot::FlightRecord> read_flight_record(const std::string& source,
                                                  std::string_view bytes,
                                                  snapshot::Tables& texts);

// -1: there is no number in the file's name.
std::int32_t rank_in_name(std::string_view source);

}  // namespace oddrank::collectives
