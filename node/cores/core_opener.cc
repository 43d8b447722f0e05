#include "node/cores/core_opener.h"

#include <utility>

#include "attach/files/open_path.h"
#include "base/read_file.h"
#include "node/files/target_modules.h"

namespace oddrank::node {

const attach::CoreTarget* CoreOpener::target_of(const CoreOfProcess& core) {
  auto at = targets_.find(core.path);
  if (at == targets_.end()) {
    auto target = attach::CoreTarget::open(core.path, sysroot_);
    at = targets_.emplace(core.path, target ? *std::move(target) : nullptr).first;
  }
  return at->second.get();
}

Result<UniqueFd> CoreOpener::first(
    pid_t pid,
    const std::string& path,
    const std::function<Result<UniqueFd>(const attach::CoreTarget&)>& open_of) {
  Result<UniqueFd> best =
      fail(Errc::kNotFound, "no core of pid " + std::to_string(pid) + " has " + path);
  for (const CoreOfProcess& core : cores_) {
    const attach::CoreTarget* target = core.pid == pid ? target_of(core) : nullptr;
    if (target != nullptr) {
      best = open_of(*target);
      if (best) {
        break;
      }
    }
  }
  return best;
}

Result<UniqueFd> CoreOpener::open(pid_t pid, const std::string& path) {
  return first(pid, path,
               [&path](const attach::Target& target) { return open_module(target, path); });
}

Result<UniqueFd> CoreOpener::open_memory(pid_t pid, const std::string& path) {
  return first(pid, path,
               [&path](const attach::Target& target) { return open_module_memory(target, path); });
}

Result<UniqueFd> CoreOpener::open_debug(const std::string& build_id) const {
  const std::string path = elf::debug_file_path(build_id);
  if (sysroot_.empty() || path.empty()) {
    return fail(Errc::kNotFound, "no debug file of " + build_id);
  }
  return attach::open_regular_below(sysroot_, path);
}

Result<std::string> CoreOpener::read_source(pid_t pid, const std::string& path) {
  ODDRANK_TRY(const UniqueFd fd, first(pid, path, [&path](const attach::CoreTarget& target) {
                return target.open_named(path);
              }));
  return read_all(fd.get(), path, elf::kMaxSourceFile);
}

elf::ModuleFiles CoreOpener::files() {
  elf::ModuleFiles files;
  files.module = [this](pid_t pid, const std::string& path) { return open(pid, path); };
  files.memory = [this](pid_t pid, const std::string& path) { return open_memory(pid, path); };
  files.debug = [this](pid_t /*pid*/, const std::string& build_id) { return open_debug(build_id); };
  files.source = [this](pid_t pid, const std::string& path) { return read_source(pid, path); };
  return files;
}

}  // namespace oddrank::node
