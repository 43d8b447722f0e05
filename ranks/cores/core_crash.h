// How a core file's process ended: the signal, and the C library's message before abort().
#pragma once

#include "attach/core/core_target.h"
#include "snapshot/crash.h"
#include "snapshot/tables.h"

namespace oddrank::ranks {

// Returns a Crash with signal 0 if no signal ended it: gcore and debuggers write cores, too.
snapshot::Crash find_crash(const attach::CoreTarget& target, snapshot::Tables& tables);

}  // namespace oddrank::ranks
