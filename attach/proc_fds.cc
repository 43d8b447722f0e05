#include "attach/proc_fds.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "attach/proc_stat.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "base/unique_fd.h"

namespace oddrank::attach {
namespace {

std::optional<std::uint64_t> inode_of(std::string_view link, std::string_view prefix) {
  if (link.substr(0, prefix.size()) != prefix || link.back() != ']') {
    return std::nullopt;
  }
  link.remove_prefix(prefix.size());
  link.remove_suffix(1);
  return parse_number<std::uint64_t>(link);
}

std::string fd_path(pid_t pid, const char* folder, int fd) {
  return process_folder(pid) + "/" + folder + "/" + std::to_string(fd);
}

}  // namespace

OpenFd parse_fd_link(int fd, std::string_view link, const RootPath& root) {
  OpenFd open;
  open.fd = fd;
  open.link = std::string(link);
  if (link.empty()) {
    return open;
  }
  if (const auto pipe = inode_of(link, "pipe:[")) {
    open.kind = FdKind::kPipe;
    open.inode = *pipe;
  } else if (const auto socket = inode_of(link, "socket:[")) {
    open.kind = FdKind::kSocket;
    open.inode = *socket;
  } else if (link.front() == '/') {
    open.kind = FdKind::kFile;
    open.link = root.below(link);
  } else if (link.substr(0, 11) == "anon_inode:") {
    open.kind = FdKind::kAnonymous;
  }
  return open;
}

Result<OpenFd> read_fd(pid_t pid, int fd) {
  ODDRANK_TRY(const std::string link, read_link(fd_path(pid, "fd", fd)));
  return parse_fd_link(fd, link, link.starts_with('/') ? RootPath::of(pid) : RootPath());
}

Result<std::vector<OpenFd>> read_fds(pid_t pid, std::size_t limit, FdPaths paths) {
  const std::string path = process_folder(pid) + "/fd";
  const Directory directory(::opendir(path.c_str()));
  if (directory == nullptr) {
    return fail(errno_code(errno), "cannot list " + path + ": " + errno_text(errno));
  }
  const RootPath root = paths == FdPaths::kBelowRoot ? RootPath::of(pid) : RootPath();
  std::vector<OpenFd> fds;
  std::array<char, 4096> link{};
  while (fds.size() < limit) {
    const dirent* entry = next_entry(directory);
    if (entry == nullptr && errno != 0 && errno != ENOENT) {  // ENOENT: it has exited
      return fail(errno_code(errno), "cannot list " + path + ": " + errno_text(errno));
    }
    if (entry == nullptr) {
      break;
    }
    const auto fd = parse_number<int>(std::string_view(entry->d_name));
    if (!fd) {
      continue;
    }
    const ssize_t length =
        ::readlinkat(::dirfd(directory.get()), entry->d_name, link.data(), link.size());
    if (length >= 0) {
      fds.push_back(parse_fd_link(*fd, {link.data(), static_cast<std::size_t>(length)}, root));
    } else if (errno == EACCES) {
      break;  // if one of a process may not be read, none may
    }
  }
  std::sort(fds.begin(), fds.end(), [](const OpenFd& a, const OpenFd& b) { return a.fd < b.fd; });
  return fds;
}

Result<FdInfo> parse_fdinfo(std::string_view text) {
  FdInfo info;
  bool has_flags = false;
  for (const std::string_view line : split(text, '\n')) {
    if (line.substr(0, 6) == "flags:" && !has_flags) {
      const auto flags = parse_number<std::uint32_t>(trim(line.substr(6)), 8);
      has_flags = flags.has_value();
      info.flags = flags.value_or(0);
    }
  }
  if (!has_flags) {
    return fail(Errc::kBadData, "not the fdinfo of a descriptor");
  }
  return info;
}

Result<FdAccess> read_fd_access(pid_t pid, int fd) {
  const std::string path = fd_path(pid, "fd", fd);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return fail(errno_code(errno), "cannot examine " + path + ": " + errno_text(errno));
  }
  return FdAccess{(status.st_mode & S_IRUSR) != 0, (status.st_mode & S_IWUSR) != 0};
}

}  // namespace oddrank::attach
