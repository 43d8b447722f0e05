// Source: CPython's Lib/concurrent/futures/_base.py (Future._state, and the `self` of its methods)
// and thread.py (_WorkItem.run), the same in 3.8 to 3.14.
#include "waits/python/python_futures.h"

#include <algorithm>
#include <array>
#include <span>

#include "cpython/objects/attributes.h"
#include "cpython/objects/strings.h"
#include "waits/frame_pattern.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonSample;
using cpython::RawFrame;
using cpython::SampledThread;

constexpr std::size_t kMaxFutureDepth = 6;  // of Future.result(), from the innermost frame on
constexpr std::array kOneFutureWaits = {
    FramePattern{"result", "concurrent/futures/_base.py"},
    FramePattern{"exception", "concurrent/futures/_base.py"},
};
constexpr std::array kWorkItems = {
    FramePattern{"run", "concurrent/futures/thread.py"},
};

bool is_any_of(PythonSample& python,
               const RawFrame& frame,
               std::span<const FramePattern> patterns) {
  const cpython::CodeObject& code = python.code(frame);
  return code.readable && std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) {
           return matches(pattern, code.function, code.file);
         });
}

Addr awaited_future(PythonSample& python, FrameValues& values, const SampledThread& waiter) {
  const std::span near(waiter.frames.data(), std::min(waiter.frames.size(), kMaxFutureDepth));
  const auto at = std::find_if(near.begin(), near.end(), [&](const RawFrame& frame) {
    return is_any_of(python, frame, kOneFutureWaits);
  });
  return at == near.end() ? Addr{} : values.self(*at);
}

bool works_on(PythonSample& python, FrameValues& values, const SampledThread& thread, Addr future) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), [&](const RawFrame& frame) {
    return is_any_of(python, frame, kWorkItems) &&
           cpython::read_attribute(python.memory(), values.self(frame), "future") == future;
  });
}

std::optional<FutureWait> wait_for_future(PythonSample& python,
                                          FrameValues& values,
                                          const SampledThread& waiter,
                                          Addr future) {
  const auto state =
      future == Addr{}
          ? std::nullopt
          : cpython::read_string(python.memory(),
                                 cpython::read_attribute(python.memory(), future, "_state"));
  if (!state) {
    return std::nullopt;
  }
  FutureWait wait;
  wait.begun = state->utf8 != "PENDING";
  for (const SampledThread& thread : python.threads()) {
    if (wait.begun && &thread != &waiter && works_on(python, values, thread, future)) {
      wait.worker = &thread;
    }
  }
  return wait;
}

}  // namespace

std::optional<FutureWait> find_future_wait(PythonSample& python,
                                           FrameValues& values,
                                           const SampledThread& waiter) {
  return wait_for_future(python, values, waiter, awaited_future(python, values, waiter));
}

const SampledThread* find_future_worker(PythonSample& python,
                                        FrameValues& values,
                                        const SampledThread& waiter,
                                        Addr future) {
  const auto wait = wait_for_future(python, values, waiter, future);
  return wait ? wait->worker : nullptr;
}

}  // namespace oddrank::waits
