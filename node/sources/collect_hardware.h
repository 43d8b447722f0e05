// State of GPUs (by nvidia-smi, where there is one) and of InfiniBand and RoCE ports (by the
// kernel's files) into a capture. Both can hang with the hardware: each is asked in a child with a
// deadline of its own, and says nothing where it does not answer.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Precondition: one thread (it forks).
void collect_hardware(snapshot::Capture& capture);

}  // namespace oddrank::node
