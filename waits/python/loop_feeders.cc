#include "waits/python/loop_feeders.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cpython/tasks/task_threads.h"
#include "waits/python/frame_values.h"
#include "waits/python/object_providers.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonSample;
using cpython::SampledThread;

constexpr std::size_t kMaxLoopObjects = 4;
constexpr std::size_t kMaxFeeders = 256;  // threads that are looked at

// Returns the event loops, each with the thread that runs it.
std::vector<std::pair<const SampledThread*, Addr>> find_loops(PythonSample& python) {
  std::vector<std::pair<const SampledThread*, Addr>> loops;
  for (const SampledThread& thread : python.threads()) {
    for (const cpython::RawFrame& frame : thread.frames) {
      const Addr loop = cpython::loop_run_by(python.memory(), python.code(frame), frame);
      if (loop != Addr{} && loops.size() < kMaxLoopObjects) {
        loops.emplace_back(&thread, loop);
        break;
      }
    }
  }
  return loops;
}

// Returns the thread's number here; 0 if it is not among the states.
pid_t number_of(const std::vector<attach::ThreadState>& states, const SampledThread& thread) {
  const auto at = std::ranges::find(states, thread.target_tid, &attach::ThreadState::target_tid);
  return at == states.end() ? 0 : at->tid;
}

// Returns whether it is a thread of anyio's pool that waits for work: its object has the loop, too.
bool is_idle_worker(PythonSample& python, const SampledThread& thread) {
  const auto& frames = thread.frames;
  const auto library = std::ranges::find_if(frames, [&python](const cpython::RawFrame& frame) {
    return python.code(frame).file.ends_with("/anyio/_backends/_asyncio.py");
  });
  return library != frames.end() && library != frames.begin() &&
         python.code(*std::prev(library)).file.ends_with("/queue.py");
}

}  // namespace

void read_loop_feeders(PythonWaits& all) {
  const auto loops = find_loops(all.python);
  if (loops.empty()) {
    return;
  }
  FrameValues values(all.python);
  ObjectProviders objects(all.python, values);
  for (std::size_t i = 0; i < std::min(all.waits.size(), kMaxFeeders); ++i) {
    const SampledThread* thread = all.thread(i);
    if (thread == nullptr || is_idle_worker(all.python, *thread)) {
      continue;
    }
    for (const auto& [runner, loop] : loops) {
      if (thread != runner && objects.has_at_hand(*thread, loop)) {
        all.waits[i].feeds_loop =
            all.waits[i].feeds_loop == 0 ? number_of(all.states, *runner) : -1;
      }
    }
  }
}

}  // namespace oddrank::waits
