#include "waits/node/lock_search.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "attach/files/open_named.h"
#include "attach/proc_fds.h"
#include "attach/proc_pids.h"
#include "attach/proc_root.h"
#include "attach/proc_stat.h"
#include "base/deadline.h"
#include "base/read_file.h"
#include "waits/mounts.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;

constexpr std::size_t kMaxPollFds = 4096;                  // of one process
constexpr std::size_t kMaxLockInfo = 65536;                // bytes of one fdinfo
constexpr std::chrono::milliseconds kOthersPatience{300};  // for the node's other processes

// SQLite (os_unix.c, os.h): PENDING_BYTE, RESERVED_BYTE and SHARED_FIRST to its end in the
// database; WAL_WRITE_LOCK and those after it in the shared-memory file. Bytes outside these ranges
// carry the lock that each connection keeps for its whole life.
constexpr std::uint64_t kPendingByte = 0x40000000;
constexpr std::uint64_t kEndOfShared = kPendingByte + 2 + 510;
constexpr std::uint64_t kFirstWalByte = 120;
constexpr std::uint64_t kEndOfWal = 128;
constexpr std::string_view kWalIndex = "-shm";

std::string proc_folder(pid_t pid) {
  return "/proc/" + std::to_string(pid);
}

std::string read_info(pid_t pid, int fd) {
  return read_file(proc_folder(pid) + "/fdinfo/" + std::to_string(fd), kMaxLockInfo)
      .value_or(std::string());
}

bool is_alive(pid_t pid) {
  const auto stat = attach::read_proc_stat(pid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

struct FileOfProcess {
  std::string path;
  FileId id;
};

// Returns the regular files that a process has open. Files of another mount namespace are left out.
std::vector<FileOfProcess> open_files(pid_t pid, std::string_view mountinfo) {
  std::vector<FileOfProcess> files;
  for (attach::OpenFd& fd :
       attach::read_fds(pid, kMaxPollFds).value_or(std::vector<attach::OpenFd>())) {
    if (fd.kind != attach::FdKind::kFile || fd.link.starts_with("/dev/")) {
      continue;
    }
    const std::string info = read_info(pid, fd.fd);
    const auto device = device_of_mount(mountinfo, mount_of_fdinfo(info));
    const std::uint64_t inode = inode_of_fdinfo(info);
    if (device && inode != 0) {
      files.push_back({std::move(fd.link), {*device, inode}});
    }
  }
  return files;
}

bool is_tried(const LockPoll& poll,
              const HeldLock& lock,
              const FileOfProcess& file,
              const std::vector<FileOfProcess>& files) {
  if (poll.by_name_only && !is_lock_name(file.path)) {
    return false;
  }
  const bool posix = lock.kind == "POSIX" || lock.kind == "OFDLCK";
  if ((poll.flock && lock.kind == "FLOCK") || (poll.posix && posix)) {
    return true;
  }
  if (!poll.database || !posix) {
    return false;
  }
  if (file.path.ends_with(kWalIndex)) {
    return lock.start >= kFirstWalByte && lock.start < kEndOfWal;
  }
  // Connections with such an index share a lock on the database for as long as they live.
  const std::string index = file.path + std::string(kWalIndex);
  const bool indexed = std::any_of(files.begin(), files.end(),
                                   [&](const FileOfProcess& each) { return each.path == index; });
  return lock.start >= kPendingByte && lock.start < kEndOfShared && (lock.writes || !indexed);
}

}  // namespace

LockSearch::LockSearch(const Capture& capture, std::vector<HeldLock> held)
    : capture_(capture), held_(std::move(held)) {}

std::optional<FoundLock> LockSearch::find(const ProcessCapture& process, const LockPoll& poll) {
  pid_ = process.pid;
  mountinfo_ = read_file(proc_folder(pid_) + "/mountinfo", kMaxMountinfo).value_or(std::string());
  const std::set<std::string> names = resolve(poll.objects);
  if (poll.existence) {
    return named_lock_file(names);
  }
  auto candidates = among_open_files(poll, names);
  if (candidates.empty() && !poll.database) {
    candidates = among_named_files(poll, names);
  }
  return only_holder(std::move(candidates));
}

// Returns the only holder, or the only writing one if any writes. The path is common to all its
// locks, or their database's; empty if there are several.
std::optional<FoundLock> LockSearch::only_holder(std::vector<Candidate> candidates) {
  const auto writes = [](const Candidate& each) { return each.writes; };
  if (std::any_of(candidates.begin(), candidates.end(), writes)) {
    std::erase_if(candidates, [&](const Candidate& each) { return !writes(each); });
  }
  std::set<pid_t> holders;
  std::set<std::string> paths;
  for (const Candidate& each : candidates) {
    holders.insert(each.holder);
    const bool index = each.path.ends_with(kWalIndex);
    paths.insert(index ? each.path.substr(0, each.path.size() - kWalIndex.size()) : each.path);
  }
  if (holders.size() != 1) {
    return std::nullopt;
  }
  return FoundLock{*holders.begin(), paths.size() == 1 ? *paths.begin() : std::string(), false};
}

std::vector<LockSearch::Candidate> LockSearch::among_open_files(
    const LockPoll& poll, const std::set<std::string>& names) {
  std::vector<FileOfProcess> files = open_files(pid_, mountinfo_);
  const auto is_named = [&](const FileOfProcess& file) { return names.contains(file.path); };
  if (!poll.database && std::any_of(files.begin(), files.end(), is_named)) {
    std::erase_if(files, [&](const FileOfProcess& file) { return !is_named(file); });
  }
  std::vector<Candidate> candidates;
  for (const FileOfProcess& file : files) {
    for (const HeldLock& lock : held_) {
      if (!(lock.file == file.id) || lock.pid == pid_ || !is_tried(poll, lock, file, files)) {
        continue;
      }
      const auto holder = holder_of(lock, file.path);
      if (holder != pid_) {
        candidates.push_back({holder.value_or(0), lock.writes, file.path});
      }
    }
  }
  const bool unknown = std::any_of(candidates.begin(), candidates.end(),
                                   [](const Candidate& each) { return each.holder == 0; });
  return unknown ? std::vector<Candidate>() : candidates;
}

std::vector<LockSearch::Candidate> LockSearch::among_named_files(
    const LockPoll& poll, const std::set<std::string>& names) {
  std::vector<Candidate> candidates;
  const auto is_held = [this](const HeldLock& lock) {
    return std::find(held_.begin(), held_.end(), lock) != held_.end();
  };
  struct Opener {
    const std::string& path;
    pid_t pid;
    int fd;
  };
  std::vector<Opener> openers;
  for (const std::string& path : names) {
    visit_openers(path, true, [&](pid_t pid, int fd) { openers.push_back(Opener{path, pid, fd}); });
  }
  for (const Opener& opener : openers) {
    for (const HeldLock& lock : locks_of_fdinfo(read_info(opener.pid, opener.fd))) {
      // A child that inherited the descriptor shows its parent's lock.
      const bool own = lock.pid == opener.pid || lock.pid < 0;
      if (own && is_held(lock) && is_tried(poll, lock, {opener.path, lock.file}, {})) {
        candidates.push_back({opener.pid, lock.writes, opener.path});
      }
    }
  }
  return candidates;
}

std::optional<FoundLock> LockSearch::named_lock_file(const std::set<std::string>& names) {
  std::set<std::string> locks;
  const auto files = attach::NamedFiles::of(pid_);
  for (const std::string& path : names) {
    const auto mount = is_lock_name(path) ? mount_of(mountinfo_, path) : std::nullopt;
    if (mount && !is_remote(*mount) && files && files->examine(path)) {
      locks.insert(path);
    }
  }
  // A lock directory contains its maker's file.
  std::erase_if(locks, [&locks](const std::string& path) {
    return locks.contains(std::filesystem::path(path).parent_path().string());
  });
  if (locks.size() != 1) {
    return std::nullopt;
  }
  std::set<pid_t> openers;
  visit_openers(*locks.begin(), false, [&](pid_t pid, int /*fd*/) { openers.insert(pid); });
  return FoundLock{openers.size() == 1 ? *openers.begin() : 0, *locks.begin(), true};
}

template <typename Visit>
void LockSearch::visit_openers(const std::string& path, bool outside, const Visit& visit) const {
  std::set<pid_t> visited = {pid_, ::getpid(), ::getppid()};
  const auto look_at = [&](pid_t pid) {
    if (!visited.insert(pid).second) {
      return;
    }
    const auto fds = attach::read_fds(pid, kMaxPollFds).value_or(std::vector<attach::OpenFd>());
    for (const attach::OpenFd& fd : fds) {
      if (fd.link == path) {
        visit(pid, fd.fd);
      }
    }
  };
  for (const ProcessCapture& process : capture_.processes) {
    look_at(process.pid);
  }
  const Deadline end = Deadline::after(kOthersPatience);
  const auto others =
      outside ? attach::list_pids().value_or(std::vector<pid_t>()) : std::vector<pid_t>();
  for (const pid_t pid : others) {
    if (end.passed()) {
      break;
    }
    look_at(pid);
  }
}

std::optional<pid_t> LockSearch::holder_of(const HeldLock& lock, const std::string& path) const {
  if (lock.pid > 0 && is_alive(lock.pid)) {
    return lock.pid;
  }
  // The lock belongs to an open file description: every process that has it holds the lock,
  // whichever took it.
  const auto has_it = [&lock](pid_t pid, int fd) {
    const auto locks = locks_of_fdinfo(read_info(pid, fd));
    return std::find(locks.begin(), locks.end(), lock) != locks.end();
  };
  for (const attach::OpenFd& fd :
       attach::read_fds(pid_, kMaxPollFds).value_or(std::vector<attach::OpenFd>())) {
    if (fd.link == path && has_it(pid_, fd.fd)) {
      return pid_;
    }
  }
  std::set<pid_t> holders;
  visit_openers(path, true, [&](pid_t pid, int fd) {
    if (has_it(pid, fd)) {
      holders.insert(pid);
    }
  });
  return holders.size() == 1 ? std::optional(*holders.begin()) : std::nullopt;
}

std::set<std::string> LockSearch::resolve(const std::vector<std::string_view>& objects) const {
  const std::string folder = objects.empty()
                                 ? std::string()
                                 : attach::read_process_link(pid_, "cwd").value_or(std::string());
  std::set<std::string> paths;
  for (const std::string_view object : objects) {
    if (object.starts_with('/') || folder.starts_with('/')) {
      const std::filesystem::path whole = std::filesystem::path(folder) / object;
      paths.insert(whole.lexically_normal().string());
    }
  }
  return paths;
}

std::string absolute_path(pid_t pid, std::string_view path) {
  const std::string folder = path.starts_with('/')
                                 ? std::string("/")
                                 : attach::read_process_link(pid, "cwd").value_or(std::string());
  if (path.empty() || !folder.starts_with('/')) {
    return {};
  }
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

}  // namespace oddrank::waits
