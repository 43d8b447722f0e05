// Who holds the locks of Python's multiprocessing that threads of a node wait for. The kernel and
// the semaphore do not know; the processes of the rank's family do, each for itself
// (semaphore_objects.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>

#include "attach/target.h"
#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::waits {

using OpenTarget = std::function<Result<std::unique_ptr<attach::Target>>(pid_t pid)>;

// Looks at the processes of each family (the rank and what belongs to it) in which a thread waits
// for a semaphore that processes share; at nothing if there is none. A lock that one of them, and
// no other, has acquired and not released is held by the thread that did; any other holder is not
// known, and the wait says so. Who releases a lock that is not recursive need not be who acquired
// it: such a holder is marked as inferred. Reads memory of processes in a child of its own, which
// has `patience` (base/isolated.h: the caller has one thread only).
void name_semaphore_owners(snapshot::Capture& capture,
                           const OpenTarget& open,
                           std::chrono::milliseconds patience = std::chrono::milliseconds{1000});

}  // namespace oddrank::waits
