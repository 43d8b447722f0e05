// Who the process of a core file was: the row of a capture, as discovery makes it of a live one.
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
  // What the reader of a report should know of this core: the signal, what is missing in it.
  std::vector<std::string> notes;
};

CoreIdentity identify_core(const attach::CoreTarget& target, snapshot::Tables& tables);

// One sentence about the programs and libraries that were needed and could not be had; "" if there
// are none. Call when all has been read.
std::string describe_missing_files(const attach::CoreTarget& target);

}  // namespace oddrank::ranks
