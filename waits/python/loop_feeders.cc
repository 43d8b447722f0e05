// Source: Lib/asyncio/base_events.py of 3.8 to 3.15 (run_forever's `self` is the loop).
#include "waits/python/loop_feeders.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "waits/python/frame_values.h"
#include "waits/python/object_providers.h"
#include "waits/python/sampled_thread.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonSample;
using cpython::SampledThread;

constexpr std::size_t kMaxLoopObjects = 4;
constexpr std::size_t kMaxFeeders = 256;  // threads that are looked at

// Returns the loop that the thread runs; null if it runs none.
Addr loop_of(PythonSample& python, FrameValues& values, const SampledThread& thread) {
  for (const cpython::RawFrame& frame : thread.frames) {
    const cpython::CodeObject& code = python.code(frame);
    if (code.readable && code.file.ends_with("/asyncio/base_events.py") &&
        std::string_view(code.function).ends_with("run_forever")) {
      return values.self(frame);
    }
  }
  return Addr{};
}

}  // namespace

void read_loop_feeders(PythonSample& python,
                       const std::vector<attach::ThreadState>& states,
                       const snapshot::ProcessCapture& process,
                       std::vector<ThreadWait>& waits) {
  FrameValues values(python);
  std::vector<std::pair<pid_t, Addr>> loops;  // and the thread that runs it
  for (std::size_t i = 0; i < std::min(waits.size(), kMaxFeeders); ++i) {
    const SampledThread* thread = sampled_thread(python, states, process.threads[i].tid);
    const Addr loop = thread == nullptr ? Addr{} : loop_of(python, values, *thread);
    if (loop != Addr{} && loops.size() < kMaxLoopObjects) {
      loops.emplace_back(process.threads[i].tid, loop);
    }
  }
  ObjectProviders objects(python, values);
  for (std::size_t i = 0; !loops.empty() && i < std::min(waits.size(), kMaxFeeders); ++i) {
    const SampledThread* thread = sampled_thread(python, states, process.threads[i].tid);
    for (const auto& [tid, loop] : loops) {
      if (thread != nullptr && tid != process.threads[i].tid &&
          objects.has_at_hand(*thread, loop)) {
        waits[i].feeds_loop = waits[i].feeds_loop == 0 ? tid : -1;
      }
    }
  }
}

}  // namespace oddrank::waits
