#include "node/files/module_opener.h"

#include <utility>

#include "attach/in_memory_target.h"
#include "node/files/target_modules.h"

namespace oddrank::node {

Result<const attach::LiveTarget*> ModuleOpener::target_of(pid_t pid, const std::string& path) {
  auto at = targets_.find(pid);
  if (at == targets_.end()) {
    auto target = attach::LiveTarget::open(pid);
    at = targets_.emplace(pid, target ? *std::move(target) : nullptr).first;
  }
  if (at->second == nullptr) {
    return fail(Errc::kGone, "cannot open " + path + " of pid " + std::to_string(pid) +
                                 ": the process has ended");
  }
  return at->second.get();
}

Result<UniqueFd> ModuleOpener::open(pid_t pid, const std::string& path) {
  ODDRANK_TRY(const auto* target, target_of(pid, path));
  if (silent_.contains(pid)) {
    return open_module(attach::InMemoryTarget(*target, openable_files(pid)), path);
  }
  return open_module(*target, path);
}

Result<UniqueFd> ModuleOpener::open_memory(pid_t pid, const std::string& path) {
  ODDRANK_TRY(const auto* target, target_of(pid, path));
  return silent_.contains(pid) ? open_module_memory(attach::InMemoryTarget(*target), path)
                               : open_module_memory(*target, path);
}

}  // namespace oddrank::node
