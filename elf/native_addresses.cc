#include "elf/native_addresses.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>

#include "elf/elf_image.h"

namespace oddrank::elf {
namespace {

using snapshot::Frame;
using snapshot::ProcessCapture;
using snapshot::StackId;
using snapshot::StringId;

// Ranks of a node that are tried for one module if the first no longer has it.
constexpr std::size_t kMaxHolders = 64;

bool is_believed(const UniqueFd& fd, std::string_view build_id) {
  UniqueFd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    return false;
  }
  const auto image = ElfImage::open(std::move(copy));
  return image && image->build_id() == build_id;
}

bool same_file(const UniqueFd& one, const UniqueFd& other) {
  struct stat first {};
  struct stat second {};
  return ::fstat(one.get(), &first) == 0 && ::fstat(other.get(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

std::set<StackId> stacks_of(const ProcessCapture& process) {
  std::set<StackId> stacks;
  for (const auto& thread : process.threads) {
    for (const auto& sample : thread.samples) {
      stacks.insert(sample.stack);
    }
  }
  return stacks;
}

// Each stack is counted once for each rank that has it: the rank's pid, and the pid of its process
// with the stack.
std::map<StackId, std::map<pid_t, pid_t>> holders_of_stacks(const snapshot::Capture& capture) {
  std::map<StackId, std::map<pid_t, pid_t>> stacks;
  for (const ProcessCapture& process : capture.processes) {
    const pid_t owner = process.owner != 0 ? process.owner : process.pid;
    for (const StackId stack : stacks_of(process)) {
      if (capture.tables.stacks().contains(stack)) {
        stacks[stack].emplace(owner, process.pid);
      }
    }
  }
  return stacks;
}

void add_holders(const std::map<pid_t, pid_t>& holders, StringId file, AskedModule& module) {
  for (const auto& [owner, pid] : holders) {
    if (module.holders.size() >= kMaxHolders) {
      return;
    }
    module.holders.emplace(owner, std::pair(pid, file));
  }
}

}  // namespace

ModuleKey key_of(const Frame& frame) {
  return {frame.build_id, frame.build_id == StringId{} ? frame.file : StringId{}};
}

AskedModules ask_modules(const snapshot::Capture& capture,
                         const std::function<bool(const Frame&)>& wants) {
  AskedModules modules;
  for (const auto& [id, holders] : holders_of_stacks(capture)) {
    for_each_native(
        capture.tables, capture.tables.stack(id),
        [&, &stack_holders = holders](std::size_t, const Frame& frame, std::uint64_t address) {
          if (frame.file == StringId{} || !wants(frame)) {
            return;
          }
          AskedModule& module = modules[key_of(frame)];
          module.addresses.insert(address);
          add_holders(stack_holders, frame.file, module);
        });
  }
  return modules;
}

Result<UniqueFd> open_believed(const snapshot::Tables& tables,
                               const ModuleKey& key,
                               const AskedModule& module,
                               const OpenModule& open) {
  const std::string_view build_id = tables.text(key.first);
  std::optional<UniqueFd> believed;
  for (const auto& holder : module.holders) {
    const auto& [pid, path] = holder.second;
    auto fd = open ? open(pid, std::string(tables.text(path)))
                   : Result<UniqueFd>(fail(Errc::kNotFound, "no process has this module open"));
    if (!fd) {
      continue;
    }
    if (believed && !same_file(*believed, *fd)) {
      return fail(Errc::kBadData, "processes have different files under the path " +
                                      std::string(tables.text(path)));
    }
    if (!believed && is_believed(*fd, build_id)) {
      believed = std::move(*fd);
    }
    if (believed && !build_id.empty()) {
      break;
    }
  }
  if (!believed) {
    return fail(Errc::kNotFound, "no file of this build");
  }
  return std::move(*believed);
}

Result<UniqueFd> open_debug_of(const snapshot::Tables& tables,
                               const ModuleKey& key,
                               const AskedModule& module,
                               const ModuleFiles& files) {
  const std::string build_id(tables.text(key.first));
  if (build_id.empty()) {
    return fail(Errc::kNotFound, "no build id");
  }
  auto fd = open_debug_file(build_id);
  if (fd && is_believed(*fd, build_id)) {
    return fd;
  }
  for (const auto& holder : module.holders) {
    if (!files.debug) {
      break;
    }
    fd = files.debug(holder.second.first, build_id);
    if (fd && is_believed(*fd, build_id)) {
      return fd;
    }
  }
  return fail(Errc::kNotFound, "no debug file of this build");
}

}  // namespace oddrank::elf
