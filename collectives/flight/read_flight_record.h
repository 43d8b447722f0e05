// Reads dumps of PyTorch's flight recorder: pickle or JSON, of all versions (torch 2.2 to 2.13),
// including those rewritten by other tools. docs/flight-recorder.md lists what is read.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/flight_record.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Returns the record, which refers to `texts`. `source`: the file's name; the number after "rank"
// in it, else its last number, is the rank (nccl_trace_rank_12, _dump_3.json). Unknown keys are
// ignored, missing ones keep their defaults. kBadData: not a dump, or an unreadable one; `what`
// says why.
Result<snapshot::FlightRecord> read_flight_record(const std::string& source,
                                                  std::string_view bytes,
                                                  snapshot::Tables& texts);

// Returns whether PyTorch's debug server (torch.distributed.debug of torch 2.13) wrote this text
// into its dump_dir: stacks or tables of all ranks, for people. It is not a dump.
bool is_debug_server_text(std::string_view bytes);

// Returns the rank in a file's name, as above; -1 if the name has no number.
std::int32_t rank_in_name(std::string_view source);

}  // namespace oddrank::collectives
