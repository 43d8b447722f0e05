#include "waits/frame_pattern.h"

#include <algorithm>

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::Tables;
using snapshot::ThreadCapture;

constexpr FramePattern kProcessStart{"_bootstrap", "multiprocessing/process.py"};

std::string_view last_part(std::string_view qualified) {
  const auto dot = qualified.rfind('.');
  return dot == std::string_view::npos ? qualified : qualified.substr(dot + 1);
}

// "x/subprocess.py" ends with "subprocess.py", "x/mysubprocess.py" does not.
bool path_ends_with(std::string_view path, std::string_view end) {
  if (!path.ends_with(end)) {
    return false;
  }
  return path.size() == end.size() || path[path.size() - end.size() - 1] == '/';
}

// Returns whether a folder of the path is the package, which ends with a slash.
bool is_in_package(std::string_view file, std::string_view package) {
  for (auto at = file.find(package); at != std::string_view::npos;
       at = file.find(package, at + 1)) {
    if (at == 0 || file[at - 1] == '/') {
      return true;
    }
  }
  return false;
}

}  // namespace

bool matches(const FramePattern& pattern, std::string_view function, std::string_view file) {
  const bool is_package = pattern.file.ends_with('/');
  return last_part(function) == pattern.function &&
         (is_package ? is_in_package(file, pattern.file) : path_ends_with(file, pattern.file));
}

bool matches(const FramePattern& pattern,
             const snapshot::Frame& frame,
             const snapshot::Tables& tables) {
  return frame.kind == snapshot::FrameKind::kPython &&
         matches(pattern, tables.text(frame.function), tables.text(frame.file));
}

std::vector<const Frame*> python_frames(const ThreadCapture& thread, const Tables& tables) {
  std::vector<const Frame*> frames;
  if (thread.samples.empty()) {
    return frames;
  }
  const snapshot::ThreadSample& last = thread.samples.back();
  const bool apart = tables.stack(last.stack).merge == snapshot::MergeState::kMismatch;
  for (const auto id : tables.stack(apart ? last.python_stack : last.stack).frames) {
    if (tables.frame(id).kind == snapshot::FrameKind::kPython) {
      frames.push_back(&tables.frame(id));
      if (matches(kProcessStart, tables.frame(id), tables)) {
        break;
      }
    }
  }
  return frames;
}

bool any_frame_matches(std::span<const Frame* const> frames,
                       std::span<const FramePattern> patterns,
                       const Tables& tables) {
  return std::any_of(frames.begin(), frames.end(), [&](const Frame* frame) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const FramePattern& pattern) {
      return matches(pattern, *frame, tables);
    });
  });
}

}  // namespace oddrank::waits
