// The processes of a capture as a family: parents and children on one node. Indices into the
// capture; valid until its processes change.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "snapshot/capture.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// A thread's wait: indices into Capture::processes and its threads.
struct WaitPlace {
  std::size_t process = 0;
  std::size_t thread = 0;
};
// Returns the waits that are wanted, in the order of the capture.
std::vector<WaitPlace> find_waits(const snapshot::Capture& capture,
                                  const std::function<bool(const snapshot::Wait&)>& is_wanted);

// Calls answer(i) for each i below `count` in a child that has `patience` (base/isolated.h: the
// caller has one thread only), and returns the first lines of the answers; "" for those that did
// not come in time.
std::vector<std::string> answers_in_child(std::size_t count,
                                          std::chrono::milliseconds patience,
                                          const std::function<std::string(std::size_t)>& answer);

// Returns whether the process has exited and its parent has not reaped it (state Z or X).
bool is_dead(const snapshot::ProcessCapture& process);

// Indices into Capture::processes.
using ProcessList = std::vector<std::size_t>;

// Returns the children of one process by parent pid; for a rank also all other processes that
// belong to it (workers of a fork server have another parent).
ProcessList family_of(const snapshot::Capture& capture, std::size_t process);
// Returns the children by parent pid only.
ProcessList children_of(const snapshot::Capture& capture, std::size_t process);

}  // namespace oddrank::waits
