// Reads the state of GPUs (from nvidia-smi, if it is on PATH) and of InfiniBand and RoCE ports
// (from the kernel's files) into a capture. Both can hang with the hardware: each is read in a
// child with a deadline of its own.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Adds the sources that answer in time; the others become notes. Precondition: one thread (it
// forks).
void collect_hardware(snapshot::Capture& capture);

}  // namespace oddrank::node
