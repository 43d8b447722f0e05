#include "node/collect/unchanged_files.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/read_file.h"
#include "waits/mounts.h"

namespace oddrank::node {
namespace {

// The kernel counts a process's start in ticks, and the clock may have been set since.
constexpr std::uint64_t kClockSlackUs = 1'000'000;

std::uint64_t changed_us(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_ctim.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(status.st_ctim.tv_nsec) / 1000;
}

// The table has no row for the root of a chroot that is no mount point, and links lead elsewhere.
bool is_on_local_disk(const UniqueFd& file) {
  constexpr std::array<unsigned long, 6> kLocal = {EXT4_SUPER_MAGIC,  XFS_SUPER_MAGIC,
                                                   BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
                                                   F2FS_SUPER_MAGIC,  TMPFS_MAGIC};
  struct statfs status {};
  return ::fstatfs(file.get(), &status) == 0 &&
         std::find(kLocal.begin(), kLocal.end(), static_cast<unsigned long>(status.f_type)) !=
             kLocal.end();
}

}  // namespace

UnchangedFiles::UnchangedFiles(attach::NamedFiles files,
                               std::string mountinfo,
                               std::uint64_t began_us)
    : files_(std::move(files)), mountinfo_(std::move(mountinfo)), began_us_(began_us) {}

Result<UnchangedFiles> UnchangedFiles::of(pid_t pid, std::uint64_t began_us) {
  ODDRANK_TRY(auto files, attach::NamedFiles::of(pid));
  ODDRANK_TRY(auto mountinfo,
              read_file("/proc/" + std::to_string(pid) + "/mountinfo", waits::kMaxMountinfo));
  return UnchangedFiles(std::move(files), std::move(mountinfo), began_us);
}

Result<std::string> UnchangedFiles::read(const std::string& path, std::size_t limit) const {
  // A ".." could lead out of the mount that the path begins with.
  const std::string plain = std::filesystem::path(path).lexically_normal().string();
  const auto mount = waits::mount_of(mountinfo_, plain);
  if (mount && !waits::is_local(*mount)) {
    return fail(Errc::kUnsupported, path + " is not on a disk of this node");
  }
  ODDRANK_TRY(const UniqueFd file, files_.open(plain, attach::LastLink::kFollowed));
  if (!is_on_local_disk(file)) {
    return fail(Errc::kUnsupported, path + " is not on a disk of this node");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return fail(errno_code(errno), "cannot examine " + path + ": " + errno_text(errno));
  }
  if (status.st_size < 0 || static_cast<std::uint64_t>(status.st_size) > limit) {
    return fail(Errc::kUnsupported, path + " is too long");
  }
  if (changed_us(status) > began_us_ + kClockSlackUs) {
    return fail(Errc::kUnsupported, path + " was changed after the process had begun");
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t more =
        ::pread(file.get(), text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (more < 0 && errno == EINTR) {
      continue;
    }
    if (more <= 0) {
      return fail(Errc::kIo, "cannot read " + path);
    }
    got += static_cast<std::size_t>(more);
  }
  return text;
}

}  // namespace oddrank::node
