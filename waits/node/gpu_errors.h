// Joins the errors that NVIDIA's driver wrote to the kernel's log (Xid) to the GPUs of a node.
#pragma once

#include <cstdint>

#include "snapshot/capture.h"
#include "waits/node/kernel_log.h"

namespace oddrank::waits {

// Sets the error of each GPU on the capture's only node: the most telling one since `begun_us`.
// Both times are after boot. A GPU that is lost may be missing in the table of GPUs. Its newest
// error becomes a note: "GPU 0000:41:00 had an error 41 s ago (kernel log): Xid 79, ...".
void add_gpu_errors(const KernelWords& words,
                    std::uint64_t begun_us,
                    std::uint64_t now_us,
                    snapshot::Capture& capture);

// Reads the kernel's log, and does the same for errors since the first rank began. Does nothing if
// there is no rank.
void add_gpu_errors(snapshot::Capture& capture);

}  // namespace oddrank::waits
