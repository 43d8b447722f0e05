// Reads the state of GPUs (from nvidia-smi, if it is on PATH) and of InfiniBand and RoCE ports
// (from the kernel's files) into a capture. Both can hang with the hardware: each is read in a
// child with a deadline of its own, while the caller does other things (nvidia-smi takes a tenth of
// a second, and seconds on a node of eight GPUs without its daemon).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/isolated.h"
#include "snapshot/capture.h"

namespace oddrank::node {

class HardwareReading {
 public:
  // Begins to read, if there is such hardware. Precondition: one thread (it forks).
  HardwareReading();

  // Waits for the answers. Adds the sources that answer in time; the others become notes. Call
  // once.
  void add_to(snapshot::Capture& capture);

 private:
  std::string tool_;               // nvidia-smi; "": there is none
  std::vector<PendingTask> gpus_;  // devices, processes on them, clocks, NVLinks; or none
  std::optional<PendingTask> ports_;
};

}  // namespace oddrank::node
