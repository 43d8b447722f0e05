#include "node/supported.h"

#include <algorithm>

#include "collectives/sources/nccl_layout.h"
#include "collectives/torch/recorder_layout.h"
#include "cpython/layouts/layout.h"

namespace oddrank::node {
namespace {

constexpr std::uint32_t kMaxMinorVersion = 99;

std::string dotted(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string pythons() {
  std::uint32_t first = kMaxMinorVersion;
  std::uint32_t last = 0;
  for (std::uint32_t minor = 0; minor <= kMaxMinorVersion; ++minor) {
    if (cpython::static_layout({3, minor, ""}, false) != nullptr) {
      first = std::min(first, minor);
      last = minor;
    }
  }
  return "CPython " + dotted(3, static_cast<int>(first)) + " to " +
         dotted(3, static_cast<int>(last));
}

std::string torches() {
  const auto layouts = collectives::recorder_layouts();
  int first = layouts.front().first;
  int last = layouts.front().last;
  for (const collectives::RecorderLayout& layout : layouts) {
    first = std::min(first, layout.first);
    last = std::max(last, layout.last);
  }
  return "flight recorders of PyTorch " + dotted(first / 100, first % 100) + " to " +
         dotted(last / 100, last % 100);
}

std::string nccl_version(int code) {
  return dotted(code / 10000, code / 100 % 100) + "." + std::to_string(code % 100);
}

std::string nccls() {
  const collectives::NcclRange range = collectives::nccl_range();
  return "communicators of NCCL " + nccl_version(range.first) + " to " + nccl_version(range.last);
}

}  // namespace

std::string supported_versions() {
  return pythons() + "\n" + torches() + "\n" + nccls() + "\n";
}

}  // namespace oddrank::node
