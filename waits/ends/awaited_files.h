// The files of a call that waits for several (poll, select, epoll). A wait of a capture has room
// for one file; of several, its detail lists the first few, by the kernel's own names for them.
// Both directions are here: the reader of the call writes the list, whoever looks for the other
// ends reads it.
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

struct NamedFile {
  int fd = -1;
  std::string link;
};

// " of 3 files (4 pipe:[31], 5 socket:[77], 6 /dev/null)", pipes and sockets first; ", ..." where
// it is cut. `count` is how many the call waits for, `files` what is known of them.
std::string list_files(std::vector<NamedFile> files, std::size_t count);

struct AwaitedFiles {
  std::vector<attach::OpenFd> ends;  // pipes and sockets: what has another end
  bool all = true;                   // false: the thread waits for other files, too
};

// Of a wait for one file or several.
AwaitedFiles awaited_files(const snapshot::Wait& wait, const snapshot::Tables& tables);

// Of the pipes, or the sockets, that threads of the process wait for.
std::set<std::uint64_t> awaited_inodes(const snapshot::ProcessCapture& process,
                                       attach::FdKind kind,
                                       const snapshot::Tables& tables);

}  // namespace oddrank::waits
