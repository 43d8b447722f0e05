// Parents that wait for worker processes, and how both sides appear in a Python stack. The patterns
// are data, so that another library is another row.
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
  // comm of a worker, if the library sets it: distinguishes a dead worker from another dead child.
  // May be empty.
  std::string_view process_name;
};

std::span<const WorkerPool> worker_pools();

// Returns frames in which a thread waits for the end of a child process outside a pool.
std::span<const FramePattern> child_joins();

// Returns frames in which a thread waits for data of another process, usually a child.
std::span<const FramePattern> queue_reads();

}  // namespace oddrank::waits
