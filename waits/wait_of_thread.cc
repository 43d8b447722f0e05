// Decides how a thread's wait is read: first by its state, then by the kind of its system call, and
// if the system call may not be read, by the kernel function it sleeps in.
#include "waits/wait_of_thread.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "snapshot/freezer.h"
#include "waits/child_wait.h"
#include "waits/fd_kind.h"
#include "waits/file_locks.h"
#include "waits/futex_wait.h"
#include "waits/mounts.h"
#include "waits/poll_wait.h"
#include "waits/syscall_table.h"
#include "waits/target_text.h"
#include "waits/time_limit.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using snapshot::Known;
using snapshot::WaitHow;
using snapshot::WaitOn;

struct WchanKind {
  std::string_view part;  // of the kernel function's name, from the start of a word
  WaitOn on;
  std::string_view detail;
};

// For threads whose system call is unknown: not permitted, or a page fault. Names: functions of
// Linux 4 to 6.18 that call schedule(). First match wins.
constexpr std::array kWchans = {
    WchanKind{"futex", WaitOn::kLock, "sleeps on a futex"},
    WchanKind{"pipe_", WaitOn::kPipe, "reads or writes a pipe"},
    WchanKind{"wait_for_partner", WaitOn::kFile, "opens a FIFO"},
    WchanKind{"do_wait_intr", WaitOn::kUnknown, "reads an event counter"},
    WchanKind{"do_wait", WaitOn::kChild, "waits for a child"},
    WchanKind{"kernel_clone", WaitOn::kChild, "waits for its new child to start its program"},
    WchanKind{"locks_lock_inode_wait", WaitOn::kFileLock, "waits for a file lock"},
    WchanKind{"fcntl_setlk", WaitOn::kFileLock, "waits for a file lock"},
    WchanKind{"nanosleep", WaitOn::kUnknown, "sleeps"},
    WchanKind{"wait_woken", WaitOn::kSocket, "waits for a socket"},
    WchanKind{"unix_stream", WaitOn::kSocket, "waits for a local socket"},
    WchanKind{"csk_accept", WaitOn::kSocket, "accepts connections"},
    WchanKind{"nfs", WaitOn::kFile, "waits for NFS"},
    WchanKind{"rpc_", WaitOn::kFile, "waits for NFS"},
    WchanKind{"ptlrpc", WaitOn::kFile, "waits for Lustre"},
    WchanKind{"cl_", WaitOn::kFile, "waits for Lustre"},
    WchanKind{"ll_", WaitOn::kFile, "waits for Lustre"},
    WchanKind{"ceph", WaitOn::kFile, "waits for Ceph"},
    WchanKind{"cifs", WaitOn::kFile, "waits for SMB"},
    WchanKind{"fuse", WaitOn::kFile, "waits for a FUSE server"},
    WchanKind{"request_wait_answer", WaitOn::kFile, "waits for a FUSE server"},
    WchanKind{"folio_wait", WaitOn::kFile, "waits for a page of a file"},
    WchanKind{"wait_on_page", WaitOn::kFile, "waits for a page of a file"},
    WchanKind{"io_schedule", WaitOn::kFile, "waits for a disk"},
    WchanKind{"jbd2", WaitOn::kFile, "waits for a file system's journal"},
    WchanKind{"nv_", WaitOn::kDevice, "waits in the GPU driver"},
    WchanKind{"uvm_", WaitOn::kDevice, "waits in the GPU driver"},
};

// Returns whether a word of the function's name begins with the part: "ll_" is Lustre's, but not in
// "poll_schedule_timeout".
bool begins_a_word(std::string_view function, std::string_view part) {
  for (std::size_t at = function.find(part); at != std::string_view::npos;
       at = function.find(part, at + 1)) {
    if (at == 0 || function[at - 1] == '_') {
      return true;
    }
  }
  return false;
}

const WchanKind* find_wchan(const std::string& wchan) {
  const auto* known = std::find_if(kWchans.begin(), kWchans.end(), [&](const WchanKind& each) {
    return begins_a_word(wchan, each.part);
  });
  return known == kWchans.end() ? nullptr : known;
}

void guess_by_wchan(ThreadWait& wait) {
  if (const WchanKind* known = find_wchan(wait.wchan)) {
    wait.on = known->on;
    wait.detail = std::string(known->detail) + " (" + wait.wchan + ")";
    wait.tells_wchan = true;
  } else if (!wait.wchan.empty() && wait.wchan != "0") {
    wait.detail = "sleeps in " + wait.wchan;
    wait.tells_wchan = true;
  }
}

// Adds to the detail, or to the notes if the detail has no text.
void add_words(const std::string& more, ThreadWait& wait) {
  std::string& words = wait.how == WaitHow::kDescribed ? wait.detail : wait.notes;
  words += (words.empty() ? "" : ", ") + more;
}

// Returns a signed 32-bit argument: the upper half of the register is not defined for an int.
int int_argument(const WaitContext& context, int index) {
  return static_cast<int>(context.thread.syscall->arguments[static_cast<std::size_t>(index)]);
}

void read_fd_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait) {
  wait.fd = int_argument(context, info.fd_argument);
  const LinkKind kind = fd_kind(context.files.link(wait.fd), wait.wchan);
  wait.on = kind.on;
  wait.path = kind.path;
  if (info.kind == SyscallKind::kSocket && wait.path.empty()) {
    wait.on = WaitOn::kSocket;
  }
  wait.detail = "in " + wait.syscall_name + "() of " +
                (wait.path.empty() ? "fd " + std::to_string(wait.fd) : wait.path);
  if (!kind.note.empty()) {
    wait.detail += " (" + kind.note + ")";
  }
}

void read_lock_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait) {
  read_fd_wait(context, info, wait);
  wait.on = WaitOn::kFileLock;
  const auto lock = blocking_lock(context.files.locked_files(), context.target.pid(),
                                  inode_of_fdinfo(context.files.info(wait.fd)));
  if (!lock) {
    wait.detail += ", holder not in this node's table of locks";
    return;
  }
  if (lock->holder > 0) {
    wait.holder_pid = lock->holder;
    // A lock in the table belongs to an open file; its process may have exited and left the file to
    // a child. Whether the pid is alive is checked later.
    wait.detail += ", locked by pid " + std::to_string(lock->holder) + " (" + lock->kind + ")";
  } else {
    wait.detail += ", locked through an open file (" + lock->kind + "), holder not named";
  }
}

void read_fcntl_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait) {
  const int command = int_argument(context, 1);
  if (command == F_SETLKW || command == F_OFD_SETLKW) {
    read_lock_wait(context, info, wait);
  } else {
    read_fd_wait(context, info, wait);
  }
}

void read_path_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait) {
  wait.on = WaitOn::kFile;
  const auto path_index = static_cast<std::size_t>(info.path_argument);
  wait.path = read_c_string(context.target, Addr{context.thread.syscall->arguments[path_index]});
  const int directory = info.fd_argument >= 0 ? int_argument(context, info.fd_argument) : AT_FDCWD;
  if (!wait.path.starts_with('/') && (directory != AT_FDCWD || !wait.path.empty())) {
    const std::string base =
        directory == AT_FDCWD ? context.files.folder() : context.files.link(directory);
    wait.path = wait.path.empty() ? base : base.empty() ? wait.path : base + "/" + wait.path;
  }
  wait.detail = "in " + wait.syscall_name + "() of " +
                (wait.path.empty() ? "a path that could not be read" : wait.path);
  if (wait.wchan == "wait_for_partner") {  // fifo_open() in fs/pipe.c
    wait.detail += " (a FIFO that nobody has open at its other end)";
  }
}

// Returns whether the call polls no file, and has no limit: only a signal ends it. pause() is such
// a call where the kernel has none of its own (aarch64).
bool polls_nothing(const WaitContext& context, const SyscallInfo& info) {
  return info.kind == SyscallKind::kPoll && context.thread.syscall->arguments[1] == 0 &&
         !limit_argument(context, info);
}

void read_syscall_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait) {
  switch (polls_nothing(context, info) ? SyscallKind::kSignalWait : info.kind) {
    case SyscallKind::kFutex:
      read_futex_wait(context, wait);
      break;
    case SyscallKind::kFile:
    case SyscallKind::kSocket:
      read_fd_wait(context, info, wait);
      break;
    case SyscallKind::kIoctl:
      read_fd_wait(context, info, wait);
      wait.on = wait.on == WaitOn::kUnknown ? WaitOn::kDevice : wait.on;
      break;
    case SyscallKind::kPoll:
    case SyscallKind::kSelect:
    case SyscallKind::kEpoll:
      read_poll_wait(context, info, wait);
      break;
    case SyscallKind::kWait4:
    case SyscallKind::kWaitid:
    case SyscallKind::kVfork:
      read_child_wait(context, info, wait);
      break;
    case SyscallKind::kFlock:
      read_lock_wait(context, info, wait);
      break;
    case SyscallKind::kFcntl:
      read_fcntl_wait(context, info, wait);
      break;
    case SyscallKind::kPath:
      read_path_wait(context, info, wait);
      break;
    case SyscallKind::kSleep:
      wait.detail = "sleeps (" + wait.syscall_name + ")";
      break;
    case SyscallKind::kRestarted:
      wait.detail = "in a call with a time limit, which was begun again after a stop";
      wait.limited = true;
      break;
    case SyscallKind::kYield:
      wait.on = WaitOn::kNothing;
      wait.detail = "gives the CPU up (" + wait.syscall_name + ")";
      break;
    case SyscallKind::kSignalWait:
      wait.on = WaitOn::kSignal;
      wait.detail = "waits for a signal (" + wait.syscall_name + ")";
      break;
    case SyscallKind::kSemaphore:
      wait.on = WaitOn::kLock;
      wait.lock.shared = true;
      wait.detail = "semaphore or message queue of the kernel (" + wait.syscall_name + ")";
      break;
    case SyscallKind::kOther:
      guess_by_wchan(wait);
      break;
  }
}

void read_blocked(const WaitContext& context, ThreadWait& wait) {
  const attach::ThreadState& thread = context.thread;
  if (!thread.syscall) {
    guess_by_wchan(wait);
    return;
  }
  if (thread.syscall->number < 0) {
    guess_by_wchan(wait);
    wait.detail = wait.detail.empty() ? "in a page fault" : "in a page fault: " + wait.detail;
    return;
  }
  wait.syscall =
      static_cast<std::int32_t>(std::min<std::int64_t>(thread.syscall->number, INT32_MAX));
  wait.syscall_name = syscall_name(thread.syscall->number);
  const SyscallInfo* info = find_syscall(thread.syscall->number);
  if (info == nullptr) {
    guess_by_wchan(wait);
    // It is unknown what such a call does with a file; a disk or server holds it up only in state
    // D.
    if (wait.on == WaitOn::kFile && thread.state != 'D') {
      wait.on = WaitOn::kUnknown;
    }
    return;
  }
  read_syscall_wait(context, *info, wait);
  read_time_limit(context, *info, wait);
}

// Only the cgroup itself shows a frozen thread in two cases: since Linux 6.1 the freezer of version
// 1 leaves it where it sleeps, in state D; and kernels such as Debian's 5.10 do not tell where a
// thread sleeps (wchan is always "0"), so that a thread frozen by version 2, in state S, cannot be
// recognised.
bool is_frozen(const WaitContext& context) {
  const attach::ThreadState& thread = context.thread;
  const bool unplaced = thread.state == 'S' && (thread.wchan.empty() || thread.wchan == "0");
  return snapshot::sleeps_in_freezer(thread.wchan, thread.state) ||
         ((thread.state == 'D' || unplaced) && context.files.freezer() == "FROZEN");
}

void read_traced(const WaitContext& context, ThreadWait& wait) {
  wait.on = WaitOn::kDebugger;
  wait.holder_pid = context.thread.tracer;
  wait.holder_alive = context.thread.tracer > 0 ? Known::kYes : Known::kUnknown;
  wait.detail = "stopped by the process that traces it";
  if (context.thread.tracer > 0) {
    wait.detail += ", pid " + std::to_string(context.thread.tracer);
  }
}

// Notes the server or disk of the file; a disk only if the thread waits for it in the kernel.
// Otherwise the file matters, not its location.
void note_mount(const WaitContext& context, ThreadWait& wait) {
  const bool file = wait.on == WaitOn::kFile || wait.on == WaitOn::kFileLock;
  if (!file || !wait.path.starts_with('/')) {
    return;
  }
  const auto mount = mount_of(context.files.mounts(), wait.path);
  if (mount && (is_remote(*mount) || context.thread.state == 'D')) {
    add_words("on " + mount_words(*mount), wait);
  }
}

// The call names the file, the kernel's function names the file system or driver.
void note_state_d(ThreadWait& wait) {
  std::string words = "state D";
  if (!wait.wchan.empty() && !wait.tells_wchan) {
    words += " in " + wait.wchan;
    const WchanKind* known = find_wchan(wait.wchan);
    if (known != nullptr && (known->on == WaitOn::kFile || known->on == WaitOn::kDevice)) {
      words += " (" + std::string(known->detail) + ")";
    }
  }
  add_words(words, wait);
}

}  // namespace

ThreadWait wait_of_thread(const WaitContext& context) {
  ThreadWait wait;
  wait.wchan = context.thread.wchan == "0" ? "" : context.thread.wchan;
  if (is_frozen(context)) {
    wait.on = WaitOn::kSignal;
    wait.how = WaitHow::kFrozen;
    return wait;
  }
  switch (context.thread.state) {
    case 'R':
      wait.on = WaitOn::kNothing;
      wait.detail = "runs";
      break;
    case 'T':
      wait.on = WaitOn::kSignal;
      wait.detail = "stopped by a signal (SIGSTOP or job control)";
      break;
    case 't':
      read_traced(context, wait);
      break;
    case 'Z':
    case 'X':
      wait.detail = "ended";
      break;
    case 'D':
      read_blocked(context, wait);
      note_state_d(wait);
      note_mount(context, wait);
      break;
    default:
      read_blocked(context, wait);
      note_mount(context, wait);
      break;
  }
  return wait;
}

}  // namespace oddrank::waits
