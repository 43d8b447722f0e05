#include "aggregate/view/remote_calls.h"

namespace oddrank::aggregate {

using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

bool calls_remotely(FrameModel& model, const ThreadCapture& thread) {
  return !thread.samples.empty() && !thread.call &&
         model.story(thread.samples.back(), Story::kRemoteCall).has_value();
}

const ThreadCapture* serving_thread(FrameModel& model, const ProcessCapture& process) {
  const ThreadCapture* serving = nullptr;
  for (const ThreadCapture& thread : process.threads) {
    if (thread.samples.empty() || !model.story(thread.samples.back(), Story::kServesCall)) {
      continue;
    }
    if (serving != nullptr) {
      return nullptr;
    }
    serving = &thread;
  }
  return serving;
}

}  // namespace oddrank::aggregate
