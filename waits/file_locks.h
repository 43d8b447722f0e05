// The kernel's table of file locks (/proc/locks): which process holds the lock that another one
// waits for.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::waits {

struct FileLock {
  std::string kind;         // "FLOCK", "POSIX", "OFDLCK"
  pid_t holder = 0;         // in the reader's pid namespace; -1: a lock of an open file (OFD)
  std::uint64_t inode = 0;  // of the locked file
};

// Finds the lock that `waiter` waits for. `inode` distinguishes several waits of one process; 0 =
// any. Returns nullopt if the table has no such wait (another host's lock on a network file
// system), or several. Format: fs/locks.c, lock_get_status(): "4: FLOCK  ADVISORY  WRITE 8350
// fe:00:2146641 0 EOF", then the same number with "->" for each waiter.
std::optional<FileLock> blocking_lock(std::string_view table, pid_t waiter, std::uint64_t inode);

// A file as the kernel's tables name it: on some file systems (btrfs, overlayfs) stat(2) returns
// another device.
struct FileId {
  std::uint64_t device = 0;  // major << 32 | minor
  std::uint64_t inode = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of <=> for a pointer
  auto operator<=>(const FileId&) const = default;
};

// One lock that is held: a row of /proc/locks, or a "lock:" line of fdinfo.
struct HeldLock {
  std::string kind;  // "FLOCK", "POSIX", "OFDLCK"
  bool writes = false;
  pid_t pid = 0;  // the taker, in the reader's pid namespace; -1: a lock of an open file (OFD)
  FileId file;
  std::uint64_t start = 0;  // first locked byte

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of <=> for a pointer
  auto operator<=>(const HeldLock&) const = default;
};

// Returns the locks that the table lists, without those that are waited for; at most kMaxHeldLocks.
std::vector<HeldLock> held_locks(std::string_view table);
inline constexpr std::size_t kMaxHeldLocks = 65536;

// Returns the locks in the text of /proc/PID/fdinfo/FD: all that were taken through this open file,
// also by a parent from which the descriptor was inherited.
std::vector<HeldLock> locks_of_fdinfo(std::string_view fdinfo);

// Returns the value of "mnt_id:" in the text of /proc/PID/fdinfo/FD (since v3.15); 0 if it has
// none.
std::uint64_t mount_of_fdinfo(std::string_view fdinfo);

// Returns the value of "ino:" in the text of /proc/PID/fdinfo/FD (since v5.14); 0 if it has none.
std::uint64_t inode_of_fdinfo(std::string_view fdinfo);

// Returns the value of "tty-index:" in the text of /proc/PID/fdinfo/FD: if the file is the other
// side of /dev/pts/N, this N (since v4.15).
std::optional<std::uint64_t> terminal_of_fdinfo(std::string_view fdinfo);

// Returns whether the text of /proc/`pid`/fdinfo/FD has a lock that this process took through this
// open file ("lock:\t1: FLOCK ..."). An inherited descriptor shows the locks of the parent, which
// do not count.
bool has_lock(std::string_view fdinfo, pid_t pid);

}  // namespace oddrank::waits
