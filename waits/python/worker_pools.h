// Parents that wait for worker processes, and how both sides look in a Python stack: as data, so
// that a further library is a further row.
#pragma once

#include <span>
#include <string_view>

#include "snapshot/wait.h"
#include "waits/frame_pattern.h"

namespace oddrank::waits {

struct WorkerPool {
  std::string_view name;                  // "DataLoader worker"
  snapshot::WaitOn on;                    // what the parent's wait becomes
  std::span<const FramePattern> waiting;  // any of them in the parent's thread
  FramePattern loop;                      // in the worker's main thread
  // Directly inside of `loop`: the worker has nothing to do.
  std::span<const FramePattern> idle;
  // comm of a worker, where the library sets it: tells a dead worker from another dead child. May
  // be empty.
  std::string_view process_name;
};

std::span<const WorkerPool> worker_pools();

// Frames in which a thread waits for the end of a child process that is no pool's worker.
std::span<const FramePattern> child_joins();

// Frames in which a thread waits for what another process sends it, usually a child.
std::span<const FramePattern> queue_reads();

}  // namespace oddrank::waits
