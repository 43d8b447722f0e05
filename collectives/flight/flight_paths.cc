#include "collectives/flight/flight_paths.h"

#include <algorithm>
#include <array>

namespace oddrank::collectives {
namespace {

// The newer name first; PyTorch takes the first that is set.
constexpr std::array<std::string_view, 2> kDumpVariables = {"TORCH_FR_DUMP_TEMP_FILE",
                                                            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"};
constexpr std::array<std::string_view, 3> kPipeVariables = {"TORCH_FR_DEBUG_INFO_PIPE_FILE",
                                                            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
                                                            "TORCH_HCCL_DEBUG_INFO_PIPE_FILE"};

void add(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    names.push_back(std::move(name));
  }
}

}  // namespace

std::vector<std::string> flight_paths(const Variable& variable, std::int32_t rank) {
  const std::string number = std::to_string(rank);
  std::vector<std::string> names;
  for (const std::string_view name : kDumpVariables) {
    if (const std::string_view prefix = variable(name); !prefix.empty()) {
      add(names, std::string(prefix) + number);
    }
  }
  const std::string_view cache = variable("XDG_CACHE_HOME");
  const std::string_view home = variable("HOME");
  constexpr std::string_view kInCache = "/torch/comm_lib_trace_rank_";
  if (!cache.empty()) {
    add(names, std::string(cache) + std::string(kInCache) + number);
  }
  add(names,
      std::string(home.empty() ? "/tmp" : home) + "/.cache" + std::string(kInCache) + number);
  add(names, "/tmp/nccl_trace_rank_" + number);
  add(names, "/tmp/hccl_trace_rank_" + number);
  return names;
}

std::vector<std::string> flight_pipes(const Variable& variable, std::int32_t rank) {
  std::vector<std::string> names;
  for (const std::string_view name : kPipeVariables) {
    if (const std::string_view stem = variable(name); !stem.empty()) {
      add(names, std::string(stem) + std::to_string(rank) + ".pipe");
    }
  }
  return names;
}

}  // namespace oddrank::collectives
