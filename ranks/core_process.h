// What the process of a core file was: the row of a capture, as discovery makes it for a live one.
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
  std::string host;  // where it ran, "" if its environment does not say
  // What the reader of a report should know about this core: the signal, what is missing in it.
  std::vector<std::string> notes;
};

CoreIdentity identify_core(const attach::CoreTarget& target, snapshot::Tables& tables);

// Returns one sentence about the programs and libraries that were needed and could not be read; ""
// if there are none. Call it when all has been read.
std::string describe_missing_files(const attach::CoreTarget& target);

}  // namespace oddrank::ranks
