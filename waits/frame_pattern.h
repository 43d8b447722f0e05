// Recognises Python frames by their names, and lists a thread's Python frames. Plain data.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "snapshot/frame.h"
#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// A Python frame: the last part of its qualified name, and the end of its file's path, or a package
// with all its files ("filelock/").
struct FramePattern {
  std::string_view function;
  std::string_view file;
};

// Return whether the frame fits the pattern.
bool matches(const FramePattern& pattern, std::string_view function, std::string_view file);
bool matches(const FramePattern& pattern,
             const snapshot::Frame& frame,
             const snapshot::Tables& tables);

// Returns the Python frames of the thread, innermost first, and only those of its own process: a
// forked worker has its parent's frames outside its own first one. Empty if no stack was read.
std::vector<const snapshot::Frame*> python_frames(const snapshot::ThreadCapture& thread,
                                                  const snapshot::Tables& tables);

// Returns whether one of the frames fits one of the patterns.
bool any_frame_matches(std::span<const snapshot::Frame* const> frames,
                       std::span<const FramePattern> patterns,
                       const snapshot::Tables& tables);

}  // namespace oddrank::waits
