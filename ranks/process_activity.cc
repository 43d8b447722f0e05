#include "ranks/process_activity.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "attach/proc_fds.h"
#include "attach/proc_maps.h"
#include "attach/proc_task.h"
#include "base/machine.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::ranks {
namespace {

using attach::ThreadState;

// More threads, or files, than any process that only waits.
constexpr std::size_t kMaxThreads = 1024;
constexpr std::size_t kMaxFiles = 4096;
// A wrapper that wakes now and then (to check a clock or forward a line) sleeps otherwise. Once
// awake, it may have to wait for a CPU on a busy machine.
constexpr int kMaxTries = 5;
constexpr std::chrono::milliseconds kPause{4};

constexpr std::array<long, 2> kChildCalls = {SYS_wait4, SYS_waitid};
// Calls in which a thread sleeps until a file, a thread, a signal or a clock wakes it.
constexpr std::array<long, 17> kIdleCalls = {kSysPoll,
                                             SYS_ppoll,
                                             kSysSelect,
                                             SYS_pselect6,
                                             kSysEpollWait,
                                             SYS_epoll_pwait,
                                             SYS_epoll_pwait2,
                                             SYS_futex,
                                             kSysPause,
                                             SYS_nanosleep,
                                             SYS_rt_sigsuspend,
                                             SYS_rt_sigtimedwait,
                                             SYS_clock_nanosleep,
                                             SYS_read,
                                             SYS_readv,
                                             SYS_restart_syscall,
                                             SYS_splice};
constexpr std::array<long, 9> kFileCalls = {kSysPoll,         SYS_ppoll,     kSysSelect,
                                            SYS_pselect6,     kSysEpollWait, SYS_epoll_pwait,
                                            SYS_epoll_pwait2, SYS_read,      SYS_readv};

template <typename List>
bool is_in(const List& list, const ThreadState& thread) {
  return thread.syscall &&
         std::find(list.begin(), list.end(), thread.syscall->number) != list.end();
}

std::vector<ThreadState> threads_of(pid_t pid) {
  std::vector<ThreadState> threads;
  const auto tids = attach::read_tids(pid);
  if (!tids || tids->size() > kMaxThreads) {
    return threads;
  }
  for (const pid_t tid : *tids) {
    if (auto thread = attach::read_thread_state(pid, tid)) {
      threads.push_back(*std::move(thread));
    }
  }
  return threads;
}

// Returns whether a thread sleeps in read() of something other than a pipe: a terminal, a socket, a
// device. It then waits for something other than its child.
bool reads_elsewhere(pid_t pid, const std::vector<ThreadState>& threads) {
  return std::any_of(threads.begin(), threads.end(), [pid](const ThreadState& thread) {
    if (!thread.syscall ||
        (thread.syscall->number != SYS_read && thread.syscall->number != SYS_readv)) {
      return false;
    }
    const auto file = attach::read_fd(pid, static_cast<int>(thread.syscall->arguments[0]));
    return !file ||
           (file->kind != attach::FdKind::kPipe && file->kind != attach::FdKind::kAnonymous);
  });
}

// "anon_inode:[pidfd]", since Linux 6.9 "pidfd:[17]"; "anon_inode:[signalfd]".
bool tells_of_children(const attach::OpenFd& file) {
  return file.link.find("pidfd") != std::string::npos ||
         file.link.find("[signalfd]") != std::string::npos;
}

bool has_child_files(pid_t pid) {
  const auto files = attach::read_fds(pid, kMaxFiles);
  return files && std::any_of(files->begin(), files->end(), tells_of_children);
}

}  // namespace

bool communicates(const attach::MemoryMap& maps) {
  const auto& all = maps.listed();
  return std::any_of(all.begin(), all.end(), [](const attach::Mapping& mapping) {
    return snapshot::is_for_ranks(snapshot::library_of(mapping.path));
  });
}

bool communicates(pid_t pid) {
  const auto maps = attach::read_proc_maps(pid);
  return maps && communicates(*maps);
}

Activity activity_of(const std::vector<ThreadState>& threads, bool child_files) {
  bool waits = false;
  for (const ThreadState& thread : threads) {
    const bool child = is_in(kChildCalls, thread);
    if (thread.state != 'S' || !(child || is_in(kIdleCalls, thread))) {
      return Activity::kWorks;
    }
    waits = waits || child || (child_files && is_in(kFileCalls, thread));
  }
  return threads.empty() ? Activity::kUnknown : waits ? Activity::kWaitsForChild : Activity::kIdle;
}

ProcessActivity read_activity(pid_t pid) {
  ProcessActivity found;
  found.communicates = ranks::communicates(pid);
  if (found.communicates) {
    return found;  // a rank, whatever it waits for
  }
  const bool child_files = has_child_files(pid);
  bool was_idle = false;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const std::vector<ThreadState> threads = threads_of(pid);
    found.activity = activity_of(threads, child_files);
    if (found.activity == Activity::kWaitsForChild) {
      return found;
    }
    if (found.activity == Activity::kIdle && reads_elsewhere(pid, threads)) {
      found.activity = Activity::kWorks;
      return found;
    }
    was_idle = was_idle || found.activity == Activity::kIdle;
    if (found.activity == Activity::kWorks) {
      std::this_thread::sleep_for(kPause);
    }
  }
  found.activity = was_idle ? Activity::kIdle : found.activity;
  return found;
}

std::string ray_session_of_log(std::string_view path) {
  const std::size_t folder = path.find("/logs/python-core-driver-");
  const std::size_t name = folder == path.npos ? path.npos : path.rfind('/', folder - 1);
  return folder == path.npos || folder == 0 || name == path.npos
             ? std::string()
             : std::string(path.substr(name + 1, folder - name - 1));
}

std::string ray_session_of(pid_t pid) {
  constexpr std::size_t kMaxFds = 4096;
  const auto fds = attach::read_fds(pid, kMaxFds, attach::FdPaths::kAsShown);
  std::string session;
  for (std::size_t i = 0; fds && i < fds->size() && session.empty(); ++i) {
    session = ray_session_of_log((*fds)[i].link);
  }
  return session;
}

}  // namespace oddrank::ranks
