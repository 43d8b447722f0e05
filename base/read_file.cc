#include "base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

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

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  std::string bytes;
  std::array<char, 16384> block{};
  while (bytes.size() < limit) {
    const std::size_t want = std::min(block.size(), limit - bytes.size());
    const ssize_t got = ::read(fd.get(), block.data(), want);
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return fail(errno_code(errno), "cannot read " + path + ": " + errno_text(errno));
    }
    if (got == 0) {
      break;
    }
    bytes.append(block.data(), static_cast<std::size_t>(got));
  }
  return bytes;
}

Result<std::string> read_link(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) {
    return fail(errno_code(errno), "cannot read link " + path + ": " + errno_text(errno));
  }
  return std::string(target.data(), static_cast<std::size_t>(length));
}

Status write_file(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    return write_all(STDOUT_FILENO, bytes, "standard output");
  }
  struct stat existing {};
  if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    // Writes directly to a device or a pipe: a rename would replace it with a plain file.
    const UniqueFd through(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!through.valid()) {
      return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
    }
    return write_all(through.get(), bytes, path);
  }
  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  const UniqueFd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot create " + path + ": " + errno_text(errno));
  }
  if (auto status = write_all(fd.get(), bytes, path); !status) {
    ::unlink(temporary.c_str());
    return status;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    return fail(errno_code(reason), "cannot write " + path + ": " + errno_text(reason));
  }
  return ok();
}

}  // namespace oddrank
