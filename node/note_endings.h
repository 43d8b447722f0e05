// Which processes are on their way out, as the frames of their main threads show.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Fills ProcessCapture::ending. Call after the frames have their names.
void note_endings(snapshot::Capture& capture);

}  // namespace oddrank::node
