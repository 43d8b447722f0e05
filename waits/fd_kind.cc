#include "waits/fd_kind.h"

#include <algorithm>
#include <array>

#include "attach/proc_path.h"

namespace oddrank::waits {
namespace {

using snapshot::WaitOn;

struct LinkPrefix {
  std::string_view prefix;
  WaitOn on;
  std::string_view note;
};

// First match wins. Anonymous inodes have the names that the kernel passes to anon_inode_getfile().
// WaitOn has no kind for those that any thread of any process can signal.
constexpr std::array kPrefixes = {
    LinkPrefix{"pipe:[", WaitOn::kPipe, ""},
    LinkPrefix{"socket:[", WaitOn::kSocket, ""},
    LinkPrefix{"anon_inode:[pidfd]", WaitOn::kChild, "end of a process"},
    LinkPrefix{"anon_inode:[eventfd]", WaitOn::kUnknown, "an event counter"},
    LinkPrefix{"anon_inode:[timerfd]", WaitOn::kUnknown, "a timer"},
    LinkPrefix{"anon_inode:[signalfd]", WaitOn::kSignal, "signals"},
    LinkPrefix{"anon_inode:inotify", WaitOn::kUnknown, "changes of files"},
    LinkPrefix{"anon_inode:infiniband", WaitOn::kDevice, "the RDMA device"},
    LinkPrefix{"anon_inode:", WaitOn::kUnknown, ""},
    LinkPrefix{"/dev/shm/", WaitOn::kFile, "shared memory"},
    LinkPrefix{"/dev/tty", WaitOn::kDevice, "a terminal"},
    LinkPrefix{"/dev/pts/", WaitOn::kDevice, "a terminal"},
    LinkPrefix{"/dev/", WaitOn::kDevice, ""},
    LinkPrefix{"/memfd:", WaitOn::kFile, "anonymous memory"},
    LinkPrefix{"/", WaitOn::kFile, ""},
};

}  // namespace

LinkKind fd_kind(std::string_view link, std::string_view wchan) {
  LinkKind kind;
  const auto [path, deleted] = attach::proc_path(link);
  kind.path = path;
  const auto* known = std::find_if(kPrefixes.begin(), kPrefixes.end(), [&](const LinkPrefix& each) {
    return link.starts_with(each.prefix);
  });
  if (known == kPrefixes.end()) {
    return kind;
  }
  kind.on = known->on;
  kind.note = known->note;
  if (kind.on == WaitOn::kFile && wchan.find("pipe_") != std::string_view::npos) {
    // pipe_read, anon_pipe_read (since v6.15, also for FIFOs), pipe_write. A read of a FIFO without
    // a writer returns at once, so there is one.
    kind.note = "a FIFO; its other end is open and does nothing";
  }
  if (deleted && kind.note.empty()) {
    kind.note = "deleted";
  }
  return kind;
}

}  // namespace oddrank::waits
