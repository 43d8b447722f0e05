#include "node/supported.h"

#include <algorithm>

#include "collectives/nccl/nccl_layout.h"
#include "collectives/torch/process_group.h"
#include "collectives/torch/recorder_layout.h"
#include "cpython/layouts/layout.h"

namespace oddrank::node {
namespace {

constexpr std::uint32_t kMaxMinorVersion = 99;

std::string pythons() {
  std::uint32_t first = kMaxMinorVersion;
  std::uint32_t last = 0;
  for (std::uint32_t minor = 0; minor <= kMaxMinorVersion; ++minor) {
    if (cpython::static_layout({3, minor, ""}, false) != nullptr) {
      first = std::min(first, minor);
      last = minor;
    }
  }
  return "CPython 3." + std::to_string(first) + " to 3." + std::to_string(last);
}

std::string torches() {
  const auto layouts = collectives::recorder_layouts();
  int first = layouts.front().first;
  int last = layouts.front().last;
  for (const collectives::RecorderLayout& layout : layouts) {
    first = std::min(first, layout.first);
    last = std::max(last, layout.last);
  }
  return "flight recorders of PyTorch " + collectives::torch_version_text(first) + " to " +
         collectives::torch_version_text(last);
}

std::string nccls() {
  const collectives::NcclRange range = collectives::nccl_range();
  return "communicators of NCCL " + collectives::nccl_version_text(range.first) + " to " +
         collectives::nccl_version_text(range.last);
}

}  // namespace

std::string supported_versions() {
  return pythons() + "\n" + torches() + "\n" + nccls() + "\n";
}

}  // namespace oddrank::node
