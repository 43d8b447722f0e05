#include "waits/node/gpu_errors.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/few_notes.h"
#include "snapshot/devices/xid_errors.h"

namespace oddrank::waits {

using snapshot::Capture;
using snapshot::Device;
using snapshot::meaning_of_xid;

void add_gpu_errors(const KernelWords& words,
                    std::uint64_t begun_us,
                    std::uint64_t now_us,
                    Capture& capture) {
  auto& gpus = capture.collectives.devices;
  for (Device& gpu : gpus) {
    gpu.xid = words.readable && gpu.pci != snapshot::StringId{} ? 0 : -1;
  }
  std::set<std::string> seen;
  FewNotes lost(kMaxKernelNotes, "GPUs with errors");
  each_newest(words.gpu_errors, begun_us, now_us, [&](const GpuError& error, std::uint64_t ago_s) {
    const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const Device& one) {
      return capture.tables.text(one.pci) == error.device;
    });
    if (gpu == gpus.end()) {
      if (seen.insert(error.device).second) {
        lost.add("GPU " + error.device + " had an error " + std::to_string(ago_s) +
                 " s ago (kernel log): Xid " + error.text);
      }
    } else if (gpu->xid <= 0 || meaning_of_xid(error.xid).fault > meaning_of_xid(gpu->xid).fault) {
      gpu->xid = error.xid;
      gpu->xid_ago_s = static_cast<std::int64_t>(ago_s);
      gpu->xid_text = capture.tables.string(error.text);
    }
  });
  for (std::string& note : lost.take()) {
    capture.nodes.front().notes.push_back(std::move(note));
  }
}

void add_gpu_errors(Capture& capture) {
  const std::uint64_t begun_us = first_start_us(capture);
  const std::uint64_t now_us = kernel_log_now_us();
  if (begun_us != UINT64_MAX && now_us != 0) {
    add_gpu_errors(read_kernel_words(), begun_us, now_us, capture);
  }
}

}  // namespace oddrank::waits
