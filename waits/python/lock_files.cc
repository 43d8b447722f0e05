#include "waits/python/lock_files.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "cpython/objects/attributes.h"
#include "cpython/objects/strings.h"
#include "waits/frame_pattern.h"
#include "waits/python/frame_values.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonSample;
using cpython::SampledThread;
using snapshot::WaitOn;

// A frame that polls, and the local that holds the path, or an object with it.
struct LockFileKind {
  FramePattern frame;
  std::string_view local;
  std::string_view attribute;
};
constexpr std::array kLockFiles = {
    LockFileKind{{"wait", "torch/utils/file_baton.py"}, "self", "lock_file_path"},
    LockFileKind{{"_poll_until_acquired", "filelock/"}, "lock_filename", ""},  // from 4.2 on
    LockFileKind{{"acquire", "filelock/"}, "lock_filename", ""},
};
constexpr std::size_t kMaxLockFileDepth = 4;  // from the innermost Python frame on

bool polls(const snapshot::ThreadCapture& thread,
           const ThreadWait& wait,
           const snapshot::Tables& tables) {
  // It mostly sleeps, but a sample may catch it checking the file.
  const bool may_poll =
      wait.on == WaitOn::kUnknown || wait.on == WaitOn::kNothing || wait.on == WaitOn::kFile;
  if (!thread.has_python || !may_poll) {
    return false;
  }
  const auto frames = python_frames(thread, tables);
  const std::span near(frames.data(), std::min(frames.size(), kMaxLockFileDepth));
  return std::any_of(kLockFiles.begin(), kLockFiles.end(), [&](const LockFileKind& kind) {
    return any_frame_matches(near, std::span(&kind.frame, 1), tables);
  });
}

std::string read_path(PythonSample& python,
                      const cpython::RawFrame& frame,
                      const LockFileKind& kind) {
  Addr value = FrameValues(python).local(frame, kind.local);
  if (!kind.attribute.empty()) {
    value = cpython::read_attribute(python.memory(), value, kind.attribute);
  }
  const auto text = cpython::read_string(python.memory(), value);
  return text ? text->utf8 : std::string();
}

void read_lock_file(PythonSample& python, const SampledThread& thread, ThreadWait& wait) {
  for (std::size_t i = 0; i < std::min(thread.frames.size(), kMaxLockFileDepth); ++i) {
    const cpython::RawFrame& frame = thread.frames[i];
    for (const LockFileKind& kind : kLockFiles) {
      const cpython::CodeObject& code = python.code(frame);
      if (!code.readable || !matches(kind.frame, code.function, code.file)) {
        continue;
      }
      const std::string path = read_path(python, frame, kind);
      if (!path.empty()) {
        wait.on = WaitOn::kFileLock;
        wait.inferred = true;
        wait.path = path;
        wait.how = snapshot::WaitHow::kLockFile;
        wait.detail = "polls the lock file " + path;
        return;
      }
    }
  }
}

}  // namespace

void read_lock_files(PythonWaits& all) {
  for (std::size_t i = 0; i < all.waits.size(); ++i) {
    if (!polls(all.process.threads[i], all.waits[i], all.tables)) {
      continue;
    }
    if (const auto* thread = all.thread(i)) {
      read_lock_file(all.python, *thread, all.waits[i]);
    }
  }
}

}  // namespace oddrank::waits
