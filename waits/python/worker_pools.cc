#include "waits/python/worker_pools.h"

#include <algorithm>
#include <array>

namespace oddrank::waits {
namespace {

using snapshot::WaitOn;

// torch 1.13 to 2.13: _next_data alone proves nothing: the loader without workers has it too, and
// loads the data itself below it.
constexpr std::array kLoaderWaits = {
    FramePattern{"_try_get_data", "torch/utils/data/dataloader.py"},
    FramePattern{"_get_data", "torch/utils/data/dataloader.py"},
};
// `get` of the index queue; its frames are innermost even while it polls (connection.py).
constexpr std::array kQueueGet = {
    FramePattern{"get", "multiprocessing/queues.py"},
};
constexpr std::array kPoolWaits = {
    FramePattern{"get", "multiprocessing/pool.py"},
    FramePattern{"wait", "multiprocessing/pool.py"},
    FramePattern{"next", "multiprocessing/pool.py"},
    FramePattern{"join", "multiprocessing/pool.py"},
};
constexpr std::array kPoolFutureWaits = {
    FramePattern{"result", "concurrent/futures/_base.py"},
    FramePattern{"exception", "concurrent/futures/_base.py"},
    FramePattern{"as_completed", "concurrent/futures/_base.py"},
    FramePattern{"wait", "concurrent/futures/_base.py"},
    FramePattern{"shutdown", "concurrent/futures/process.py"},
};

// joblib 1.3 to 1.6 polls; other users of loky wait for a future.
constexpr std::array kLokyWaits = {
    FramePattern{"_retrieve", "joblib/parallel.py"},
    FramePattern{"result", "concurrent/futures/_base.py"},
};
// distributed 2026.8: the client runs an event loop in a thread, and the main thread waits for it.
constexpr std::array kDaskWaits = {
    FramePattern{"sync", "distributed/utils.py"},
};
constexpr std::array kThreadQueueGet = {
    FramePattern{"get", "queue.py"},
    FramePattern{"_worker", "distributed/threadpoolexecutor.py"},
};

// multiprocess, a fork of multiprocessing, and datasets 5, which polls a queue that its workers
// fill.
constexpr std::array kForkedPoolWaits = {
    FramePattern{"get", "multiprocess/pool.py"},
    FramePattern{"wait", "multiprocess/pool.py"},
    FramePattern{"next", "multiprocess/pool.py"},
    FramePattern{"join", "multiprocess/pool.py"},
    FramePattern{"iflatmap_unordered", "datasets/utils/py_utils.py"},
};
constexpr std::array kForkedQueueGet = {
    FramePattern{"get", "multiprocess/queues.py"},
};

// Python 3.8 to 3.14. The thread that replaces workers is `_handle_workers`.
constexpr std::array kPoolHandlers = {
    FramePattern{"_handle_tasks", "multiprocessing/pool.py"},
    FramePattern{"_handle_results", "multiprocessing/pool.py"},
};
constexpr std::array kForkedPoolHandlers = {
    FramePattern{"_handle_tasks", "multiprocess/pool.py"},
    FramePattern{"_handle_results", "multiprocess/pool.py"},
};
// What an idle handler calls: it receives. A program's iterator or callback, or a pipe that is
// full, is something else.
constexpr std::array<std::string_view, 6> kReceiving = {"get",         "recv",  "recv_bytes",
                                                        "_recv_bytes", "_recv", "wait"};

constexpr std::array kPools = {
    WorkerPool{"DataLoader worker", WaitOn::kInput, kLoaderWaits,
               FramePattern{"_worker_loop", "torch/utils/data/_utils/worker.py"}, kQueueGet,
               "pt_data_worker"},
    WorkerPool{"process pool worker", WaitOn::kChild, kPoolFutureWaits,
               FramePattern{"_process_worker", "concurrent/futures/process.py"}, kQueueGet, ""},
    WorkerPool{"multiprocessing.Pool worker", WaitOn::kChild, kPoolWaits,
               FramePattern{"worker", "multiprocessing/pool.py"}, kQueueGet, "", kPoolHandlers},
    WorkerPool{"multiprocess.Pool worker", WaitOn::kChild, kForkedPoolWaits,
               FramePattern{"worker", "multiprocess/pool.py"}, kForkedQueueGet, "",
               kForkedPoolHandlers},
    WorkerPool{"loky worker", WaitOn::kChild, kLokyWaits,
               FramePattern{"_process_worker", "loky/process_executor.py"}, kQueueGet, ""},
    WorkerPool{"dask worker", WaitOn::kChild, kDaskWaits,
               FramePattern{"_worker", "distributed/threadpoolexecutor.py"}, kThreadQueueGet, ""},
};

constexpr std::array kChildJoins = {
    FramePattern{"wait", "subprocess.py"},
    FramePattern{"_wait", "subprocess.py"},
    FramePattern{"communicate", "subprocess.py"},
    FramePattern{"_communicate", "subprocess.py"},
    FramePattern{"join", "multiprocessing/process.py"},
    FramePattern{"wait", "multiprocessing/popen_fork.py"},
};

constexpr std::array kQueueReads = {
    FramePattern{"get", "multiprocessing/queues.py"},
    FramePattern{"recv", "multiprocessing/connection.py"},
    FramePattern{"recv_bytes", "multiprocessing/connection.py"},
};

}  // namespace

std::span<const WorkerPool> worker_pools() {
  return kPools;
}

std::optional<bool> is_idle_handler(const WorkerPool& pool,
                                    std::span<const snapshot::Frame* const> frames,
                                    const snapshot::Tables& tables) {
  const auto at = std::find_if(frames.begin(), frames.end(), [&](const snapshot::Frame* frame) {
    return std::any_of(
        pool.handlers.begin(), pool.handlers.end(),
        [&](const FramePattern& handler) { return matches(handler, *frame, tables); });
  });
  if (at == frames.end()) {
    return std::nullopt;
  }
  return std::all_of(frames.begin(), at, [&](const snapshot::Frame* frame) {
    const std::string_view function = tables.text(frame->function);
    const std::string_view name = function.substr(function.rfind('.') + 1);
    return std::find(kReceiving.begin(), kReceiving.end(), name) != kReceiving.end() &&
           tables.text(frame->file).find("/multiprocess") != std::string_view::npos;
  });
}

std::span<const FramePattern> child_joins() {
  return kChildJoins;
}

std::span<const FramePattern> queue_reads() {
  return kQueueReads;
}

}  // namespace oddrank::waits
