#include "base/write_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "base/base_name.h"
#include "base/hex.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/unique_fd.h"

namespace oddrank {
namespace {

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return fail(errno_code(errno), "cannot write " + path + ": " + errno_text(errno));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok();
}

struct Place {
  std::string folder;
  std::string name;
};

Place place_of(const std::string& path) {
  const std::string_view name = base_name(path);
  const std::string folder = path.substr(0, path.size() - name.size());
  return {folder.empty() ? "." : folder, std::string(name)};
}

// Returns the descriptor of ours that a path like /dev/stdout or /dev/fd/7 means. Shells make such
// paths; renaming a file over one would replace the link in /dev.
std::optional<int> own_descriptor(const std::string& path) {
  const std::string text = path == "-" ? "/dev/fd/1" : path;
  const auto link =
      text == "/dev/stdout" || text == "/dev/stderr" ? read_link(text) : Result<std::string>(text);
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (link && link->starts_with(folder)) {
      return parse_number<int>(std::string_view(*link).substr(folder.size()));
    }
  }
  return std::nullopt;
}

bool is_trusted(const struct stat& facts) {
  return facts.st_uid == 0 || facts.st_uid == ::geteuid();
}

// Opens a device or a FIFO, not waiting for a reader. Returns no descriptor if a regular file is
// (or is to be) there, or a link to one: that is replaced.
Result<UniqueFd> open_through(int folder, const Place& place, const std::string& path) {
  struct stat facts {};
  if (::fstatat(folder, place.name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT
               ? Result<UniqueFd>(UniqueFd())
               : fail(errno_code(errno), "cannot write " + path + ": " + errno_text(errno));
  }
  if (S_ISREG(facts.st_mode) || (S_ISLNK(facts.st_mode) && !is_trusted(facts))) {
    return UniqueFd();
  }
  const UniqueFd found(::openat(folder, place.name.c_str(), O_PATH | O_CLOEXEC));
  if (!found.valid() || ::fstat(found.get(), &facts) != 0 || S_ISREG(facts.st_mode)) {
    return UniqueFd();
  }
  if (!is_trusted(facts)) {
    return fail(Errc::kPermission, "cannot write " + path + ": it is no file, and user " +
                                       std::to_string(facts.st_uid) + " has made it");
  }
  const std::string same = "/proc/self/fd/" + std::to_string(found.get());
  UniqueFd fd(::open(same.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) {
    const bool unread = errno == ENXIO && S_ISFIFO(facts.st_mode);
    return fail(unread ? Errc::kNotFound : errno_code(errno),
                "cannot write " + path + ": " +
                    (unread ? "no process reads this pipe" : errno_text(errno)));
  }
  ::fcntl(fd.get(), F_SETFL, O_WRONLY);  // its reader may be slow
  return fd;
}

Status write_new(int fd, std::string_view bytes, mode_t mode, const std::string& path) {
  ODDRANK_TRY_STATUS(write_all(fd, bytes, path));
  if (::fchmod(fd, mode) != 0 || ::fsync(fd) != 0) {
    return fail(errno_code(errno), "cannot write " + path + ": " + errno_text(errno));
  }
  return ok();
}

constexpr int kNewFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

Status replace(int folder,
               const std::string& name,
               std::string_view bytes,
               mode_t mode,
               const std::string& path) {
  const std::string temporary = ".oddrank-" + random_word();
  const UniqueFd fd(::openat(folder, temporary.c_str(), kNewFile, kPrivateMode));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot create " + path + ": " + errno_text(errno));
  }
  Status status = write_new(fd.get(), bytes, mode, path);
  if (status && ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0) {
    status = fail(errno_code(errno), "cannot write " + path + ": " + errno_text(errno));
  }
  if (!status) {
    ::unlinkat(folder, temporary.c_str(), 0);
  }
  return status;
}

}  // namespace

std::string random_word() {
  std::uint64_t number = 0;
  // Never interrupted and never short below 256 bytes, once the machine has booted.
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  std::string digits = hex_number(number);
  return std::string(16 - digits.size(), '0') + digits;
}

Status write_file(const std::string& path, std::string_view bytes, mode_t mode) {
  if (const auto descriptor = own_descriptor(path)) {
    return write_all(*descriptor, bytes, path == "-" ? "standard output" : path);
  }
  const Place place = place_of(path);
  const UniqueFd folder(::open(place.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || place.name.empty()) {
    const int reason = folder.valid() ? EISDIR : errno;
    return fail(errno_code(reason), "cannot create " + path + ": " + errno_text(reason));
  }
  ODDRANK_TRY(const UniqueFd through, open_through(folder.get(), place, path));
  return through.valid() ? write_all(through.get(), bytes, path)
                         : replace(folder.get(), place.name, bytes, mode, path);
}

Status check_writable(const std::string& path, std::size_t bytes) {
  if (own_descriptor(path)) {
    return ok();
  }
  const auto cannot = [&path](int reason) {
    return fail(errno_code(reason), "cannot write " + path + ": " + errno_text(reason));
  };
  const Place place = place_of(path);
  const UniqueFd folder(::open(place.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || place.name.empty()) {
    return cannot(folder.valid() ? EISDIR : errno);
  }
  struct stat facts {};
  if (::fstatat(folder.get(), place.name.c_str(), &facts, 0) == 0 && !S_ISREG(facts.st_mode)) {
    return S_ISDIR(facts.st_mode) ? cannot(EISDIR) : ok();
  }
  // Without a name, so that nothing can be left behind; some file systems know only files with one.
  const std::string name = ".oddrank-" + random_word();
  UniqueFd fd(::openat(folder.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kPrivateMode));
  const bool named = !fd.valid() && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL);
  if (named) {
    fd = UniqueFd(::openat(folder.get(), name.c_str(), kNewFile, kPrivateMode));
  }
  if (!fd.valid()) {
    return cannot(errno);
  }
  // glibc writes a byte to each block where the file system cannot reserve space.
  const int reason = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (named) {
    ::unlinkat(folder.get(), name.c_str(), 0);
  }
  return reason == ENOSPC || reason == EDQUOT || reason == EIO ? cannot(reason) : ok();
}

Status write_file_in(int folder, const std::string& name, std::string_view bytes, mode_t mode) {
  return replace(folder, name, bytes, mode, name);
}

std::string file_identity(const std::string& path) {
  const auto descriptor = own_descriptor(path);
  if (descriptor) {
    return *descriptor == STDOUT_FILENO ? "-" : "fd " + std::to_string(*descriptor);
  }
  const Place place = place_of(path);
  struct stat facts {};
  if (::stat(place.folder.c_str(), &facts) != 0) {
    return path;
  }
  return std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino) + "/" + place.name;
}

}  // namespace oddrank
