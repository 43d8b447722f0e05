// What a Python thread waits for, by the names of its innermost frames: the primitives of the
// standard library that have no owner, in words.
#pragma once

#include <span>
#include <string_view>

#include "snapshot/frame.h"
#include "snapshot/tables.h"

namespace oddrank::waits {

// "an item of a queue.Queue (get)"; "" if the innermost frame is none of them. `frames`: Python
// frames, innermost first.
std::string_view python_phase(std::span<const snapshot::Frame* const> frames,
                              const snapshot::Tables& tables);

}  // namespace oddrank::waits
