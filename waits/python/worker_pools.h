// Parents that wait for worker processes, and how both sides appear in a Python stack. The patterns
// are data: another library is another row.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "snapshot/wait.h"
#include "waits/frame_pattern.h"

namespace oddrank::waits {

struct WorkerPool {
  std::string_view name;                  // "DataLoader worker"
  snapshot::WaitOn on;                    // the kind of the parent's wait
  std::span<const FramePattern> waiting;  // any of them in the parent's thread
  FramePattern loop;                      // in the worker's main thread
  // Directly inside `loop` if the worker has nothing to do.
  std::span<const FramePattern> idle;
  // comm of a worker, if the library sets it: distinguishes a dead worker from another dead child.
  // May be empty.
  std::string_view process_name;
  // Threads of the parent that distribute work and collect answers. A pool with such threads
  // replaces a worker that has ended; its work is lost.
  std::span<const FramePattern> handlers = {};
};

// Returns the table.
std::span<const WorkerPool> worker_pools();

// Returns whether a thread of the pool's parent, one of `handlers`, has nothing to do; nullopt if
// it is not a handler.
std::optional<bool> is_idle_handler(const WorkerPool& pool,
                                    std::span<const snapshot::Frame* const> frames,
                                    const snapshot::Tables& tables);

// Returns frames in which a thread waits for a child process outside a pool to exit.
std::span<const FramePattern> child_joins();

// Returns frames in which a thread waits for data of another process, usually a child.
std::span<const FramePattern> queue_reads();

}  // namespace oddrank::waits
