// Reads the file descriptors of a process, as names: only links are read, nothing is opened or
// stat'ed, so a dead file system cannot block us. Needs the same permission as ptrace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/proc_root.h"
#include "base/result.h"

namespace oddrank::attach {

enum class FdKind : std::uint8_t { kOther = 0, kFile, kPipe, kSocket, kAnonymous };

struct OpenFd {
  int fd = -1;
  FdKind kind = FdKind::kOther;
  std::string link;         // "pipe:[123]", "socket:[5]", "anon_inode:[eventpoll]", "/data/x.tar"
  std::uint64_t inode = 0;  // of a pipe or socket; the same at both ends of a pipe
};

// Parses `link` as readlink returns it; a path is shown below `root`.
OpenFd parse_fd_link(int fd, std::string_view link, const RootPath& root = {});

// Reads one descriptor. Fails with kNotFound if it is not open.
Result<OpenFd> read_fd(pid_t pid, int fd);

// How paths are shown: below the process's root, or as the kernel shows them, which saves reading
// that root if paths do not matter.
enum class FdPaths : std::uint8_t { kBelowRoot, kAsShown };

// Reads all descriptors, ascending, at most `limit`; leaves out those closed meanwhile.
Result<std::vector<OpenFd>> read_fds(pid_t pid,
                                     std::size_t limit = 65536,
                                     FdPaths paths = FdPaths::kBelowRoot);

struct FdInfo {
  std::uint32_t flags = 0;  // as in open(2): O_ACCMODE shows which end of a pipe this is
};
// Parses "pos:\t0\nflags:\t0100002\n...". Fails with kBadData if there is no flags line.
Result<FdInfo> parse_fdinfo(std::string_view text);

struct FdAccess {
  bool reads = false;
  bool writes = false;
};
// Reads the mode of the link itself (fs/proc/fd.c), which takes a third of the time of fdinfo.
Result<FdAccess> read_fd_access(pid_t pid, int fd);

}  // namespace oddrank::attach
