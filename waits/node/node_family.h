// The processes of a capture as a family: who is whose child on one node, and the Python frames of
// a thread. Views into a capture; valid until its processes change.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "snapshot/capture.h"
#include "waits/python/worker_pools.h"

namespace oddrank::waits {

// Innermost first; only the Python ones, and only the process's own: a worker that was forked has
// the frames of its parent below its first own one. Empty if no stack was read.
std::vector<const snapshot::Frame*> python_frames(const snapshot::ThreadCapture& thread,
                                                  const snapshot::Tables& tables);

bool any_frame_matches(std::span<const snapshot::Frame* const> frames,
                       std::span<const FramePattern> patterns,
                       const snapshot::Tables& tables);

// Adds a further piece of evidence to those that are for people.
void add_note(snapshot::Capture& capture, snapshot::Wait& wait, const std::string& more);

// A thread's wait: indices into Capture::processes and its threads.
struct WaitPlace {
  std::size_t process = 0;
  std::size_t thread = 0;
};
std::vector<WaitPlace> find_waits(const snapshot::Capture& capture,
                                  const std::function<bool(const snapshot::Wait&)>& is_wanted);

// State Z or X: it has ended and waits for its parent to notice.
bool is_dead(const snapshot::ProcessCapture& process);

// Indices into Capture::processes.
using ProcessList = std::vector<std::size_t>;

// Of one process: its own children by parent pid; of a rank also whatever else belongs to it
// (workers of a fork server have another parent).
ProcessList family_of(const snapshot::Capture& capture, std::size_t process);
// Only by parent pid.
ProcessList children_of(const snapshot::Capture& capture, std::size_t process);

}  // namespace oddrank::waits
