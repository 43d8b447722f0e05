// Finds processes that are exiting, from the frames of their main threads.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Fills ProcessCapture::ending. Call after the frames have their names.
void note_endings(snapshot::Capture& capture);

}  // namespace oddrank::node
