// Notes of a wait: evidence for people only.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "snapshot/capture.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// Adds `more` to the notes of a wait of the capture.
void add_note(snapshot::Capture& capture, snapshot::Wait& wait, const std::string& more);

// Returns the first few processes by number, and how many others there are: "7, 8",
// "7, 8, 9, 10 and 160 others".
std::string pid_list(std::span<const pid_t> pids);

}  // namespace oddrank::waits
