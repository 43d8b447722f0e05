#include "waits/node/lock_holders.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/proc_fds.h"
#include "attach/proc_pids.h"
#include "attach/proc_stat.h"
#include "base/base_name.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "waits/add_note.h"
#include "waits/file_locks.h"
#include "waits/node/node_family.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::Wait;

constexpr std::size_t kMaxHolderFds = 65536;   // of one process
constexpr std::size_t kMaxHolderInfo = 65536;  // bytes of one fdinfo
constexpr std::size_t kMaxHolders = 65536;     // of one lock: children share what they inherit

std::string fdinfo(pid_t pid, int fd) {
  return read_file("/proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd), kMaxHolderInfo)
      .value_or(std::string());
}

// A lock that a thread waits for.
struct Blocked {
  std::string file;         // name without its folder: mount namespaces differ in folders
  std::uint64_t inode = 0;  // 0: the kernel is older than v5.14
  pid_t waiter = 0;
  int fd = -1;  // of the waiter: what it has locked through that very file does not hold it up
  std::vector<pid_t> holders;
};

bool has_lock_open(const Blocked& lock, pid_t pid, const attach::OpenFd& fd) {
  const std::string text = fdinfo(pid, fd.fd);
  const auto locks = locks_of_fdinfo(text);
  return std::any_of(locks.begin(), locks.end(), [&lock](const HeldLock& one) {
    // A POSIX lock is also shown for processes that inherited the file, but they do not have it.
    return one.kind != "POSIX" && (lock.inode == 0 || one.file.inode == lock.inode);
  });
}

void look_at_process(pid_t pid, std::vector<Blocked>& locks) {
  const auto fds = attach::read_fds(pid, kMaxHolderFds);
  if (!fds) {
    return;
  }
  for (const attach::OpenFd& fd : *fds) {
    for (Blocked& lock : locks) {
      const bool candidate = fd.kind == attach::FdKind::kFile && base_name(fd.link) == lock.file &&
                             !(pid == lock.waiter && fd.fd == lock.fd) &&
                             lock.holders.size() < kMaxHolders &&
                             (lock.holders.empty() || lock.holders.back() != pid);
      if (candidate && has_lock_open(lock, pid, fd)) {
        lock.holders.push_back(pid);
      }
    }
  }
}

// Runs in the child.
void search_holders(std::vector<Blocked>& locks) {
  for (Blocked& lock : locks) {
    lock.inode = inode_of_fdinfo(fdinfo(lock.waiter, lock.fd));
  }
  for (const pid_t pid : attach::list_pids().value_or(std::vector<pid_t>())) {
    if (pid != ::getpid() && pid != ::getppid()) {
      look_at_process(pid, locks);
    }
  }
}

bool is_captured(const Capture& capture, std::uint32_t node, pid_t pid) {
  return std::any_of(
      capture.processes.begin(), capture.processes.end(),
      [&](const ProcessCapture& each) { return each.node == node && each.pid == pid; });
}

// Returns "so has pid 7", "so have pids 7, 8, 9, 10 and 160 others"; "" if there are no others.
std::string others_words(const std::vector<pid_t>& others) {
  const bool one = others.size() == 1;
  return others.empty() ? "" : (one ? "; so has pid " : "; so have pids ") + pid_list(others);
}

void set_lock_holder(const std::vector<pid_t>& holders, const WaitPlace& place, Capture& capture) {
  const ProcessCapture& waiter = capture.processes[place.process];
  Wait& wait = capture.processes[place.process].threads[place.thread].wait;
  const pid_t taker = wait.holder_pid;
  if (std::find(holders.begin(), holders.end(), taker) != holders.end()) {
    wait.holder_alive = Known::kYes;
    return;
  }
  if (holders.empty()) {
    if (taker != 0 && wait.holder_alive != Known::kYes) {
      wait.holder_pid = 0;
      wait.holder_alive = Known::kUnknown;
      add_note(capture, wait,
               "a process that inherited the open file has the lock; it was not found");
    }
    return;
  }
  const auto captured = std::find_if(holders.begin(), holders.end(), [&](pid_t pid) {
    return is_captured(capture, waiter.node, pid);
  });
  wait.holder_pid = captured == holders.end() ? holders.front() : *captured;
  wait.holder_alive = Known::kYes;
  std::vector<pid_t> others = holders;
  std::erase(others, wait.holder_pid);
  add_note(capture, wait,
           "pid " + std::to_string(wait.holder_pid) + " has the open file with the lock" +
               (taker == 0 ? "" : ", not pid " + std::to_string(taker) + ", which took it") +
               others_words(others));
}

}  // namespace

void name_lock_holders(Capture& capture, std::chrono::milliseconds patience) {
  const std::vector<WaitPlace> places = find_waits(capture, [](const Wait& wait) {
    return wait.on == snapshot::WaitOn::kFileLock && !wait.inferred && wait.fd >= 0;
  });
  std::vector<Blocked> locks;
  for (const WaitPlace& place : places) {
    const ProcessCapture& process = capture.processes[place.process];
    const Wait& wait = process.threads[place.thread].wait;
    locks.push_back(
        {std::string(base_name(capture.tables.text(wait.path))), 0, process.pid, wait.fd, {}});
  }
  const auto answers = answers_in_child(places.size(), patience, [&](std::size_t i) {
    if (i == 0) {
      search_holders(locks);
    }
    std::string pids;
    for (const pid_t holder : locks[i].holders) {
      pids += std::to_string(holder) + " ";
    }
    return pids;
  });
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::vector<pid_t> holders;
    for (const std::string_view word : split_blanks(answers[i])) {
      if (const auto pid = parse_number<pid_t>(word)) {
        holders.push_back(*pid);
      }
    }
    set_lock_holder(holders, places[i], capture);
  }
}

}  // namespace oddrank::waits
