// The uncaught C++ exception in a core file of a process that std::terminate() ended.
#pragma once

#include <string>

#include "attach/core/core_target.h"

namespace oddrank::ranks {

// Returns "terminate called after throwing an instance of 'c10::DistBackendError': NCCL error ...";
// without the text if it is unknown where the type stores it; "" if no exception is found.
// Precondition: libstdc++ has called abort() in the thread that the core names first.
std::string thrown_exception(const attach::CoreTarget& target);

}  // namespace oddrank::ranks
