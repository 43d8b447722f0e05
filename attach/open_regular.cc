#include "attach/open_regular.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace oddrank::attach {
namespace {

// Opens for reading a file that was only looked up (O_PATH: does nothing to a device or FIFO), if
// it is a regular one.
Result<UniqueFd> open_if_regular(const UniqueFd& found, const std::string& path) {
  struct stat info {};
  if (::fstat(found.get(), &info) != 0) {
    return fail(errno_code(errno), "cannot examine " + path + ": " + errno_text(errno));
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

}  // namespace

Result<UniqueFd> open_regular(const std::string& path) {
  const UniqueFd found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  return open_if_regular(found, path);
}

Result<UniqueFd> open_regular_below(const std::string& root, const std::string& path) {
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
    return open_regular(root + path);  // before Linux 5.6, or filtered
  }
  if (!found.valid()) {
    return fail(errno_code(errno), "cannot open " + root + path + ": " + errno_text(errno));
  }
  return open_if_regular(found, root + path);
}

}  // namespace oddrank::attach
