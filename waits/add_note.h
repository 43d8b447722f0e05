// Notes of a wait: evidence for people only.
#pragma once

#include <string>

#include "snapshot/capture.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// Adds `more` to the notes of a wait of the capture.
void add_note(snapshot::Capture& capture, snapshot::Wait& wait, const std::string& more);

}  // namespace oddrank::waits
