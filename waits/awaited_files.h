// The files of a call that waits for several (poll, select, epoll): which ones a wait lists, and
// which have another end. Names are the kernel's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attach/proc_fds.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

using Inodes = std::set<std::uint64_t>;

struct NamedFile {
  int fd = -1;
  std::string link;
  bool tells_end = false;  // AwaitedFile::tells_end
};

// Returns the first few: pipes and sockets first, and among these last those that tell the end of a
// process.
std::vector<NamedFile> listed_files(std::vector<NamedFile> files);

struct AwaitedFiles {
  // Pipes and sockets, which have another end. In a wait for several files, they come first in
  // Wait::awaited, in the same order.
  std::vector<attach::OpenFd> ends;
  bool all = true;  // false: the thread waits for other files, too
};

// Returns the files of a wait for one file or several.
AwaitedFiles awaited_files(const snapshot::Wait& wait, const snapshot::Tables& tables);

// Returns whether the thread reads or writes a pipe that has a path: the kernel sleeps in functions
// of pipes (fs/pipe.c), and the file has an ordinary name. Also true for the nameless side of a
// terminal, whose other side has the path (fd_kind.h).
bool is_named_pipe(const snapshot::Wait& wait, const snapshot::Tables& tables);

// Returns the inodes of the pipes, or the sockets, that threads of the process wait for.
Inodes awaited_inodes(const snapshot::ProcessCapture& process,
                      attach::FdKind kind,
                      const snapshot::Tables& tables);

}  // namespace oddrank::waits
