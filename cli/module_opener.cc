#include "cli/module_opener.h"

#include <algorithm>
#include <utility>

namespace oddrank::cli {

Result<UniqueFd> ModuleOpener::open(pid_t pid, const std::string& path) {
  auto at = targets_.find(pid);
  if (at == targets_.end()) {
    auto target = attach::LiveTarget::open(pid);
    at = targets_.emplace(pid, target ? *std::move(target) : nullptr).first;
  }
  if (at->second == nullptr) {
    return fail(Errc::kGone, "cannot open " + path + " of pid " + std::to_string(pid) +
                                 ": the process has ended");
  }
  const auto& mappings = at->second->maps().all();
  const auto mapping =
      std::find_if(mappings.begin(), mappings.end(),
                   [&](const attach::Mapping& candidate) { return candidate.path == path; });
  if (mapping == mappings.end()) {
    return fail(Errc::kNotFound, "pid " + std::to_string(pid) + " no longer maps " + path);
  }
  return at->second->open_file(*mapping);
}

}  // namespace oddrank::cli
