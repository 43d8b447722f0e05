#include "waits/name_wait.h"

#include <algorithm>
#include <string>

#include "waits/native_lock_names.h"
#include "waits/node_family.h"
#include "waits/python_phase.h"

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::Tables;
using snapshot::ThreadCapture;
using snapshot::Wait;
using snapshot::WaitOn;

// Who asks for the GIL wakes up every few milliseconds, and its call may have been read just then;
// its frames say it all the same.
bool is_in_take_gil(const ThreadCapture& thread, const Tables& tables) {
  constexpr std::size_t kDepth = 8;
  const auto& frames = tables.stack(thread.samples.back().stack).frames;
  for (std::size_t i = 0; i < std::min(frames.size(), kDepth); ++i) {
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

void name_gil_wait(const ProcessCapture& process,
                   const ThreadCapture& thread,
                   Tables& tables,
                   Wait& wait) {
  if ((wait.on != WaitOn::kLock && wait.on != WaitOn::kNothing) || wait.holder_tid != 0 ||
      !is_in_take_gil(thread, tables)) {
    return;
  }
  const auto holder = std::find_if(process.threads.begin(), process.threads.end(),
                                   [](const ThreadCapture& each) { return each.holds_gil; });
  wait.on = WaitOn::kGil;
  std::string detail = "waits for Python's GIL";
  if (holder != process.threads.end() && holder->tid != thread.tid) {
    wait.holder_pid = process.pid;
    wait.holder_tid = holder->tid;
    wait.holder_alive = Known::kYes;
    detail += ", held by thread " + std::to_string(holder->tid);
  }
  wait.detail = tables.string(detail);
}

void name_python_wait(const ThreadCapture& thread, Tables& tables, Wait& wait) {
  const std::string words(python_phase(python_frames(thread, tables), tables));
  if (words.empty() || wait.on != WaitOn::kLock || wait.holder_tid != 0) {
    return;
  }
  const std::string detail(tables.text(wait.detail));
  const auto limit = detail.find(", with a time limit");
  wait.detail = tables.string("waits for " + words +
                              (limit == std::string::npos ? std::string() : detail.substr(limit)));
}

}  // namespace

void name_wait(const ProcessCapture& process,
               const ThreadCapture& thread,
               Tables& tables,
               Wait& wait) {
  name_gil_wait(process, thread, tables, wait);
  if (wait.on == WaitOn::kLock || wait.on == WaitOn::kThread) {
    name_native_lock(thread, tables, wait);
    name_python_wait(thread, tables, wait);
  }
}

}  // namespace oddrank::waits
