// Finds threads that wait for a future of Python's concurrent.futures, and the thread on which its
// work depends.
//
// A future does not record which thread will complete it. But a thread of a ThreadPoolExecutor has
// its current future in its frame (_WorkItem.run), its pool's queue has the futures of work that
// has not begun, and an asyncio loop has the futures of the coroutines that it was given. A
// thread that asks trio for something (trio.from_thread) has no future, but trio's token.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cpython/python_sample.h"
#include "waits/python/frame_values.h"

namespace oddrank::waits {

enum class FutureWorker : std::uint8_t {
  kNone,   // not known
  kWorks,  // works on it
  kPool,   // belongs to a full pool with the work in its queue: its only thread, or one of several
           // that wait for each other
  kLoop,   // runs the coroutine's event loop, and is in one of its tasks
};

struct FutureWait {
  bool begun = false;  // a thread has started it, or it is done
  FutureWorker how = FutureWorker::kNone;
  const cpython::SampledThread* worker = nullptr;  // null only if `how` is kNone
};

class PythonFutures {
 public:
  // Borrows both.
  PythonFutures(cpython::PythonSample& python, FrameValues& values)
      : python_(python), values_(values) {}

  // Returns nullopt if the thread is not in Future.result() or .exception(), and waits for no loop
  // of trio, or that cannot be read.
  std::optional<FutureWait> wait_of(const cpython::SampledThread& waiter);

  // Returns the thread that works on a future; null if unknown, or if the object is not a future.
  const cpython::SampledThread* worker_on(const cpython::SampledThread& waiter,
                                          attach::Addr future);

 private:
  struct Pool {
    attach::Addr queue{};
    bool full = false;  // it starts no more threads
    std::vector<const cpython::SampledThread*> threads;
    std::vector<attach::Addr> queued;  // futures
  };
  struct Loop {
    attach::Addr loop{};
    const cpython::SampledThread* thread = nullptr;
  };
  // A thread that waits for a future without a time limit, and the threads of which one must go on
  // first.
  struct Dependent {
    const cpython::SampledThread* waiter = nullptr;
    std::vector<const cpython::SampledThread*> on;
  };

  std::optional<FutureWait> wait_for(const cpython::SampledThread& waiter, attach::Addr future);
  const cpython::RawFrame* waiting_frame(const cpython::SampledThread& waiter);
  bool waits_without_limit(const cpython::SampledThread& waiter);
  bool works_on(const cpython::SampledThread& thread, attach::Addr future);
  void scan();
  void add_to_pool(const cpython::SampledThread& thread, const cpython::RawFrame& frame);
  const Pool* pool_with(attach::Addr future);
  const cpython::SampledThread* loop_with(attach::Addr future);
  void add_trio(const cpython::SampledThread& thread);
  const cpython::SampledThread* trio_asked_by(const cpython::SampledThread& waiter);
  std::vector<const cpython::SampledThread*> needed_by(const cpython::SampledThread& waiter);
  void find_stuck();
  bool is_stuck(const cpython::SampledThread* thread) const;
  const cpython::SampledThread* stuck_in(const Pool& pool, const cpython::SampledThread& waiter);

  cpython::PythonSample& python_;
  FrameValues& values_;
  bool scanned_ = false;
  bool compared_ = false;
  std::vector<Pool> pools_;
  std::vector<Loop> busy_loops_;  // whose thread is in a task
  std::vector<Loop> busy_trios_;  // the same; `loop` is the queue of what threads ask for
  std::vector<Dependent> stuck_;  // none of them can go on before another one does
};

}  // namespace oddrank::waits
