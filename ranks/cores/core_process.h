// Makes the row of a capture for the process of a core file, as discovery does for a live process.
#pragma once

#include <string>
#include <vector>

#include "attach/core/core_target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::ranks {

struct CoreIdentity {
  snapshot::ProcessCapture
      process;       // node 0, not yet read; a rank by its environment, if it had one
  std::string host;  // where it ran, by its environment; "" = unknown
  // Notes for the reader of a report on this core: the signal, missing parts.
  std::vector<std::string> notes;
};

// Returns the row; unknown fields keep their defaults. Never fails.
CoreIdentity identify_core(const attach::CoreTarget& target, snapshot::Tables& tables);

// Returns one sentence about the programs and libraries that were needed and could not be read; ""
// if there are none. Call it after everything has been read.
std::string describe_missing_files(const attach::CoreTarget& target);

}  // namespace oddrank::ranks
