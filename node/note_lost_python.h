// Notes that a native stack has CPython's functions, but no interpreter was found.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Marks such processes as read in part, with the reason. Call it when the native frames have their
// names.
void note_lost_python(snapshot::Capture& capture);

}  // namespace oddrank::node
