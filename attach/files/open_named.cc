#include "attach/files/open_named.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "attach/proc_fds.h"
#include "attach/proc_stat.h"
#include "base/base_name.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "base/unique_fd.h"

namespace oddrank::attach {
namespace {

constexpr std::size_t kMaxUnixTable = std::size_t{8} << 20;

// Our own link to a descriptor leads to the very file, for open(2) and connect(2).
std::string own_link(const UniqueFd& found) {
  return "/proc/self/fd/" + std::to_string(found.get());
}

// Returns the inodes of the local sockets that listen at a path with this last name. A row is "Num:
// RefCount Protocol Flags Type St Inode Path" (net/unix/af_unix.c).
std::set<std::uint64_t> listening_sockets(std::string_view table, std::string_view name) {
  constexpr std::uint32_t kAccepts = 0x10000;  // __SO_ACCEPTCON
  std::set<std::uint64_t> inodes;
  for (const std::string_view line : split(table, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() < 8 || base_name(words.back()) != name) {
      continue;
    }
    const auto flags = parse_number<std::uint32_t>(words[3], 16);
    const auto inode = parse_number<std::uint64_t>(words[6]);
    if (flags && inode && (*flags & kAccepts) != 0) {
      inodes.insert(*inode);
    }
  }
  return inodes;
}

// Returns whether `pid` is the process that called listen(2).
bool is_answered_by(const UniqueFd& connection, pid_t pid) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.pid == pid;
}

}  // namespace

Result<NamedFiles> NamedFiles::of(pid_t pid) {
  const std::string path = process_folder(pid) + "/root";
  UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  ODDRANK_TRY(Rights rights, rights_of(pid));
  return NamedFiles(pid, std::move(root), std::move(rights));
}

Result<UniqueFd> NamedFiles::open(const std::string& path, LastLink last) const {
  return open_below_as(root_, path, last, rights_);
}

Result<std::string> NamedFiles::read(const std::string& path,
                                     std::size_t limit,
                                     LastLink last) const {
  ODDRANK_TRY(const UniqueFd fd, open(path, last));
  return read_all(fd.get(), path, limit);
}

Result<std::string> NamedFiles::link_text(const std::string& path) const {
  ODDRANK_TRY(const UniqueFd found, find(path, S_IFLNK, "link"));
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlinkat(found.get(), "", text.data(), text.size());
  if (size < 0) {
    return fail(errno_code(errno), "cannot read " + path + ": " + errno_text(errno));
  }
  return std::string(text.data(), static_cast<std::size_t>(size));
}

Result<struct stat> NamedFiles::examine(const std::string& path) const {
  ODDRANK_TRY(const ActAs acting, ActAs::begin(rights_));
  ODDRANK_TRY(const UniqueFd found, find_below(root_, path, LastLink::kRefused));
  struct stat facts {};
  if (::fstat(found.get(), &facts) != 0) {
    return fail(errno_code(errno), "cannot examine " + path + ": " + errno_text(errno));
  }
  return facts;
}

Result<struct statvfs> NamedFiles::file_system(const std::string& path) const {
  ODDRANK_TRY(const UniqueFd found, find(path, S_IFDIR, "folder"));
  struct statvfs facts {};
  if (::fstatvfs(found.get(), &facts) != 0) {
    return fail(errno_code(errno), "cannot examine " + path + ": " + errno_text(errno));
  }
  return facts;
}

Result<std::vector<std::string>> NamedFiles::list(const std::string& path,
                                                  std::size_t limit) const {
  ODDRANK_TRY(const ActAs acting, ActAs::begin(rights_));
  ODDRANK_TRY(const UniqueFd found, find_below(root_, path, LastLink::kRefused));
  const int fd = ::openat(found.get(), ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const Directory folder(fd < 0 ? nullptr : ::fdopendir(fd));
  if (folder == nullptr) {
    return fail(errno_code(errno), "cannot list " + path + ": " + errno_text(errno));
  }
  std::vector<std::string> names;
  while (names.size() < limit) {
    const dirent* entry = next_entry(folder);
    if (entry == nullptr && errno != 0) {
      return fail(errno_code(errno), "cannot list " + path + ": " + errno_text(errno));
    }
    if (entry == nullptr) {
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  return names;
}

Result<UniqueFd> NamedFiles::find(const std::string& path,
                                  mode_t type,
                                  const char* type_name) const {
  ODDRANK_TRY(const ActAs acting, ActAs::begin(rights_));
  ODDRANK_TRY(UniqueFd found, find_below(root_, path, LastLink::kRefused));
  struct stat info {};
  if (::fstat(found.get(), &info) != 0 || (info.st_mode & S_IFMT) != type) {
    return fail(Errc::kUnsupported, path + " is not a " + type_name);
  }
  return found;
}

bool NamedFiles::has_open_for_reading(const UniqueFd& fifo) const {
  struct stat wanted {};
  const auto fds = read_fds(pid_);
  if (!fds || ::fstat(fifo.get(), &wanted) != 0) {
    return false;
  }
  return std::any_of(fds->begin(), fds->end(), [&](const OpenFd& each) {
    if (each.kind != FdKind::kFile) {
      return false;
    }
    const auto access = read_fd_access(pid_, each.fd);
    const std::string path = process_folder(pid_) + "/fd/" + std::to_string(each.fd);
    const UniqueFd theirs(access && access->reads ? ::open(path.c_str(), O_PATH | O_CLOEXEC) : -1);
    struct stat facts {};
    return theirs.valid() && ::fstat(theirs.get(), &facts) == 0 && S_ISFIFO(facts.st_mode) &&
           facts.st_dev == wanted.st_dev && facts.st_ino == wanted.st_ino;
  });
}

bool NamedFiles::listens(const std::string& path) const {
  const auto fds = read_fds(pid_);
  const auto table = read_file(process_folder(pid_) + "/net/unix", kMaxUnixTable);
  if (!fds || !table) {
    return false;
  }
  const auto sockets = listening_sockets(*table, base_name(path));
  return std::any_of(fds->begin(), fds->end(), [&](const OpenFd& each) {
    return each.kind == FdKind::kSocket && sockets.contains(each.inode);
  });
}

Result<UniqueFd> NamedFiles::open_pipe(const std::string& path) const {
  ODDRANK_TRY(const UniqueFd found, find(path, S_IFIFO, "pipe"));
  if (!has_open_for_reading(found)) {
    return fail(Errc::kNotFound, "pid " + std::to_string(pid_) + " does not read " + path);
  }
  ODDRANK_TRY(const ActAs acting, ActAs::begin(rights_));
  // Without a reader this fails (ENXIO) rather than waits.
  UniqueFd fd(::open(own_link(found).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail(errno == ENXIO ? Errc::kNotFound : errno_code(errno),
                "cannot write to " + path + ": " + errno_text(errno));
  }
  return fd;
}

Result<UniqueFd> NamedFiles::connect_to(const std::string& path) const {
  ODDRANK_TRY(const UniqueFd found, find(path, S_IFSOCK, "socket"));
  if (!listens(path)) {
    return fail(Errc::kNotFound, "pid " + std::to_string(pid_) + " does not listen at " + path);
  }
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = own_link(found);
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  ODDRANK_TRY(const ActAs acting, ActAs::begin(rights_));
  if (!fd.valid() ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(errno_code(errno), "cannot connect to " + path + ": " + errno_text(errno));
  }
  if (!is_answered_by(fd, pid_)) {
    return fail(Errc::kNotFound, "pid " + std::to_string(pid_) + " does not listen at " + path);
  }
  return fd;
}

Result<UniqueFd> open_descriptor(pid_t pid, int fd) {
  const std::string path = process_folder(pid) + "/fd/" + std::to_string(fd);
  // The kernel's link leads to the file itself. Only its contents need the process's rights.
  const UniqueFd found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  ODDRANK_TRY(const Rights rights, rights_of(pid));
  ODDRANK_TRY(const ActAs acting, ActAs::begin(rights));
  return open_found(found, path);
}

}  // namespace oddrank::attach
