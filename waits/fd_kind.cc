#include "waits/fd_kind.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "attach/proc_path.h"
#include "waits/file_locks.h"

namespace oddrank::waits {
namespace {

using snapshot::WaitOn;

// terminal_side() makes these.
constexpr std::string_view kTerminalSide = "ptmx:[";

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
    LinkPrefix{kTerminalSide, WaitOn::kPipe, "the program's side of a terminal of its own"},
    LinkPrefix{"/dev/ptmx", WaitOn::kPipe, "a terminal of its own"},
    LinkPrefix{"/dev/shm/", WaitOn::kFile, "shared memory"},
    LinkPrefix{"/dev/tty", WaitOn::kDevice, "a terminal"},
    LinkPrefix{"/dev/pts/", WaitOn::kDevice, "a terminal"},
    LinkPrefix{"/dev/", WaitOn::kDevice, ""},
    LinkPrefix{"/memfd:", WaitOn::kFile, "anonymous memory"},
    LinkPrefix{"/", WaitOn::kFile, ""},
};

}  // namespace

std::string terminal_side(const std::string& link, std::string_view info) {
  constexpr std::uint64_t kMaxTerminals = 1 << 20;  // NR_UNIX98_PTY_MAX (include/linux/tty.h)
  const bool is_side = link == "/dev/ptmx" || link == "/dev/pts/ptmx";
  const auto number = is_side ? terminal_of_fdinfo(info) : std::nullopt;
  return number && *number < kMaxTerminals
             ? std::string(kTerminalSide) + "/dev/pts/" + std::to_string(*number) + "]"
             : link;
}

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
  if (known->prefix == kTerminalSide && kind.path.ends_with(']')) {
    kind.path = kind.path.substr(kTerminalSide.size(), kind.path.size() - kTerminalSide.size() - 1);
  }
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
