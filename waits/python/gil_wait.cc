#include "waits/python/gil_wait.h"

#include <algorithm>

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::Tables;
using snapshot::ThreadCapture;
using snapshot::Wait;
using snapshot::WaitOn;

// A thread that wants the GIL wakes every few milliseconds, and its call may have been read just
// then; its frames still show the wait.
bool is_in_take_gil(const ThreadCapture& thread, const Tables& tables) {
  constexpr std::size_t kMaxDepth = 8;
  const auto& frames = tables.stack(thread.samples.back().stack).frames;
  for (std::size_t i = 0; i < std::min(frames.size(), kMaxDepth); ++i) {
    const Frame& frame = tables.frame(frames[i]);
    if (frame.kind != snapshot::FrameKind::kNative) {
      return false;
    }
    if (tables.text(frame.function) == "take_gil") {
      return true;
    }
  }
  return false;
}

// Frames do not show which GIL it is: if several are in use, no holder is named.
const ThreadCapture* find_holder(const ProcessCapture& process, const ThreadCapture& waiter) {
  const bool several = std::any_of(process.threads.begin(), process.threads.end(),
                                   [](const ThreadCapture& each) { return each.gil != 0; });
  if (!waiter.wants_gil && several) {
    return nullptr;
  }
  const auto holder = std::find_if(
      process.threads.begin(), process.threads.end(), [&waiter](const ThreadCapture& each) {
        return each.holds_gil && each.gil == waiter.gil && each.tid != waiter.tid;
      });
  return holder == process.threads.end() ? nullptr : &*holder;
}

}  // namespace

void name_gil_wait(const ProcessCapture& process,
                   const ThreadCapture& thread,
                   const Tables& tables,
                   Wait& wait) {
  const bool may_be = wait.on == WaitOn::kLock || wait.on == WaitOn::kNothing;
  if (!may_be || !(thread.wants_gil || (wait.holder_tid == 0 && is_in_take_gil(thread, tables)))) {
    return;
  }
  wait.on = WaitOn::kGil;
  wait.how = snapshot::WaitHow::kGil;
  wait.lock = {};
  wait.detail = {};
  wait.rare.edit().notes = {};
  if (const ThreadCapture* holder = find_holder(process, thread)) {
    wait.holder_pid = process.pid;
    wait.holder_tid = holder->tid;
    wait.holder_alive = Known::kYes;
    wait.lock.owner = snapshot::LockOwner::kThread;
  }
}

}  // namespace oddrank::waits
