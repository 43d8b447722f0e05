#include "node/files/silent_files.h"

#include "attach/proc_stat.h"
#include "base/read_file.h"
#include "waits/mounts.h"

namespace oddrank::node {

SilentFiles::SilentFiles(pid_t pid)
    : mountinfo_(read_file(attach::process_folder(pid) + "/mountinfo", waits::kMaxMountinfo)
                     .value_or(std::string())) {}

bool SilentFiles::may_open(const attach::Mapping& mapping) const {
  const auto mount = waits::mount_of(mountinfo_, mapping.path);
  return mount && !waits::is_remote(*mount);
}

std::string SilentFiles::mounts(const attach::MemoryMap& maps) const {
  std::set<std::string> found;
  for (const attach::Mapping& mapping : maps.listed()) {
    const auto mount =
        mapping.inode == 0 ? std::nullopt : waits::mount_of(mountinfo_, mapping.path);
    if (mount && waits::is_remote(*mount)) {
      found.insert(waits::mount_words(*mount));
    }
  }
  std::string words;
  for (const std::string& one : found) {
    words += (words.empty() ? "" : ", ") + one;
  }
  return words;
}

std::function<bool(const attach::Mapping&)> openable_files(pid_t pid) {
  return [files = SilentFiles(pid)](const attach::Mapping& mapping) {
    return files.may_open(mapping);
  };
}

}  // namespace oddrank::node
