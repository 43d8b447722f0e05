#include "attach/open_mapped.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include "base/read_file.h"

namespace oddrank::attach {
namespace {

// A path that was only looked up (O_PATH: nothing happens to a device or FIFO) becomes a readable
// file if it is a regular one.
Result<UniqueFd> open_if_regular(const UniqueFd& found, const std::string& path) {
  struct stat info {};
  if (::fstat(found.get(), &info) != 0) {
    return fail(errno_code(errno), "cannot look at " + path + ": " + errno_text(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(Errc::kUnsupported, path + " is not a regular file");
  }
  const std::string again = "/proc/self/fd/" + std::to_string(found.get());
  UniqueFd fd(::open(again.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  return fd;
}

Result<UniqueFd> open_plain(const std::string& path) {
  const UniqueFd found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  return open_if_regular(found, path);
}

// "/proc/7/map_files/7f00-7f10" with the numbers as the kernel prints them there.
std::string map_file_path(pid_t pid, const Mapping& mapping) {
  std::array<char, 80> range{};
  std::snprintf(range.data(), range.size(), "%llx-%llx",
                static_cast<unsigned long long>(mapping.start),
                static_cast<unsigned long long>(mapping.end));
  return "/proc/" + std::to_string(pid) + "/map_files/" + range.data();
}

// Symbolic links on the way are resolved as the process would, not against our own root.
Result<UniqueFd> open_below_root(pid_t pid, const std::string& path) {
  const std::string root = "/proc/" + std::to_string(pid) + "/root";
  const UniqueFd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    return fail(errno_code(errno), "cannot open " + root + ": " + errno_text(errno));
  }
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const UniqueFd found(
      static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
  if (!found.valid() && (errno == ENOSYS || errno == EPERM)) {
    return open_plain(root + path);  // before Linux 5.6, or filtered
  }
  if (!found.valid()) {
    return fail(errno_code(errno), "cannot open " + root + path + ": " + errno_text(errno));
  }
  return open_if_regular(found, root + path);
}

bool same_mount_namespace(pid_t pid) {
  const auto ours = read_link("/proc/self/ns/mnt");
  const auto its = read_link("/proc/" + std::to_string(pid) + "/ns/mnt");
  return ours && its && *ours == *its;
}

}  // namespace

Result<UniqueFd> open_mapped(pid_t pid, const Mapping& mapping) {
  if (mapping.path.empty() || mapping.path.front() != '/') {
    return fail(Errc::kNotFound, "no file is behind the mapping " + mapping.path);
  }
  auto exact = open_plain(map_file_path(pid, mapping));
  if (exact || exact.error().code == Errc::kUnsupported) {
    return exact;
  }
  if (mapping.deleted) {
    return fail(Errc::kNotFound,
                mapping.path + " was deleted after pid " + std::to_string(pid) + " had loaded it",
                "root can read deleted files (`sudo oddrank ...`)");
  }
  auto below_root = open_below_root(pid, mapping.path);
  if (below_root || below_root.error().code == Errc::kUnsupported || !same_mount_namespace(pid)) {
    return below_root;
  }
  return open_plain(mapping.path);
}

}  // namespace oddrank::attach
