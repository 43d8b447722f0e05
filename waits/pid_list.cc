#include "waits/pid_list.h"

#include <algorithm>
#include <cstddef>

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxPidsInNote = 4;

}  // namespace

std::string pid_list(std::span<const pid_t> pids) {
  std::string text;
  for (const pid_t pid : pids.first(std::min(pids.size(), kMaxPidsInNote))) {
    text += (text.empty() ? "" : ", ") + std::to_string(pid);
  }
  const std::size_t others = pids.size() - std::min(pids.size(), kMaxPidsInNote);
  return others == 0   ? text
         : others == 1 ? text + " and another"
                       : text + " and " + std::to_string(others) + " others";
}

}  // namespace oddrank::waits
