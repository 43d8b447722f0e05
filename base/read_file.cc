#include "base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "base/unique_fd.h"

namespace oddrank {
namespace {

// A file's own statement of its size is believed up to here; beyond it, room is made as the bytes
// come.
constexpr std::size_t kMaxReserve = std::size_t{16} << 20;

// Makes room for the rest of a large file at once. Files of /proc say that they are empty.
void reserve_all(int fd, std::size_t limit, std::string& bytes) {
  struct stat status {};
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    bytes.reserve(std::min({static_cast<std::size_t>(status.st_size), limit, kMaxReserve}));
  }
}

enum class EndsAt : std::uint8_t { kEmptyRead, kShortRead };
enum class From : std::uint8_t { kPosition, kStart };

Result<std::string> read_until(
    int fd, const std::string& path, std::size_t limit, EndsAt end, From from = From::kPosition) {
  std::string bytes;
  std::array<char, 16384> block;  // not cleared: /proc has thousands of files of some bytes
  while (bytes.size() < limit) {
    const std::size_t want = std::min(block.size(), limit - bytes.size());
    const ssize_t got = from == From::kStart
                            ? ::pread(fd, block.data(), want, static_cast<off_t>(bytes.size()))
                            : ::read(fd, block.data(), want);
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return fail(errno_code(errno), "cannot read " + path + ": " + errno_text(errno));
    }
    if (bytes.size() == block.size()) {
      reserve_all(fd, limit, bytes);
    }
    bytes.append(block.data(), static_cast<std::size_t>(got));
    if (got == 0 || (end == EndsAt::kShortRead && static_cast<std::size_t>(got) < want)) {
      break;
    }
  }
  return bytes;
}

Result<UniqueFd> open_to_read(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  return fd;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  ODDRANK_TRY(const UniqueFd fd, open_to_read(path));
  return read_all(fd.get(), path, limit);
}

Result<std::string> read_record(const std::string& path, std::size_t limit) {
  ODDRANK_TRY(const UniqueFd fd, open_to_read(path));
  return read_until(fd.get(), path, limit, EndsAt::kShortRead);
}

Result<std::string> read_record_of(int fd, const std::string& path, std::size_t limit) {
  return read_until(fd, path, limit, EndsAt::kShortRead);
}

Result<std::string> reread_record(int fd, const std::string& path, std::size_t limit) {
  return read_until(fd, path, limit, EndsAt::kShortRead, From::kStart);
}

Result<std::string> read_all(int fd, const std::string& path, std::size_t limit) {
  return read_until(fd, path, limit, EndsAt::kEmptyRead);
}

std::string read_end(int fd, std::size_t most) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size <= 0) {
    return {};
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  std::string text(std::min(size, most), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const auto more = ::pread(fd, text.data() + got, text.size() - got,
                              static_cast<off_t>(size - text.size() + got));
    if (more <= 0) {
      break;
    }
    got += static_cast<std::size_t>(more);
  }
  text.resize(got);
  return text;
}

Result<std::string> read_link(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) {
    return fail(errno_code(errno), "cannot read link " + path + ": " + errno_text(errno));
  }
  return std::string(target.data(), static_cast<std::size_t>(length));
}

}  // namespace oddrank
