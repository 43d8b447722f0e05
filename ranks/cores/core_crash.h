// How a core file's process ended: the signal, the C library's message before abort(), and the C++
// exception that nobody caught.
#pragma once

#include <string>

#include "attach/core/core_target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::ranks {

// Returns a Crash with signal 0 if no signal ended it: gcore and debuggers write cores, too.
snapshot::Crash find_crash(const attach::CoreTarget& target, snapshot::Tables& tables);

// Returns the uncaught C++ exception of a process that std::terminate() ended:
// "terminate called after throwing an instance of 'c10::DistBackendError': NCCL error ..."; without
// the text if it is unknown where the type stores it; "" if no exception is found. Precondition:
// libstdc++ has called abort() in the thread that the core names first.
std::string thrown_exception(const attach::CoreTarget& target);

}  // namespace oddrank::ranks
