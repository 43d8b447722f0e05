// Finds the holders of locks of Python's multiprocessing that threads of a node wait for. Neither
// the kernel nor the semaphore stores the holder; but each process of the rank's family records
// whether it holds the lock itself (python/semaphore_objects.h).
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

// If a thread waits for a semaphore that processes share, reads all processes of its family (the
// rank and its processes); and all of the node, if none of the family holds it. If exactly one
// process has acquired the lock and not released it, the thread that did so is the holder;
// otherwise the holder is unknown, and the wait says so. A lock that is not recursive may be
// released by another thread, so its holder is marked as inferred. Reads memory of processes in a
// child, which has `patience` (base/isolated.h: the caller must have one thread only); a process
// that maps the lock takes a millisecond or two. If the time ends before all were read, the owner
// is left open.
void name_semaphore_owners(snapshot::Capture& capture,
                           const OpenTarget& open,
                           std::chrono::milliseconds patience);

}  // namespace oddrank::waits
