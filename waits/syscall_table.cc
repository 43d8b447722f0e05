#include "waits/syscall_table.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace oddrank::waits {
namespace {

constexpr int kNone = -1;

constexpr SyscallInfo on_fd(int number,
                            std::string_view name,
                            SyscallKind kind = SyscallKind::kFile,
                            int fd_argument = 0) {
  return {number, name, kind, fd_argument, kNone, kNone, true};
}
constexpr SyscallInfo on_path(int number,
                              std::string_view name,
                              int path_argument,
                              int directory_argument = kNone) {
  return {number, name, SyscallKind::kPath, directory_argument, path_argument, kNone, true};
}
constexpr SyscallInfo plain(int number, std::string_view name, SyscallKind kind) {
  return {number, name, kind, kNone, kNone, kNone, true};
}
constexpr SyscallInfo timed(SyscallInfo info, int argument, bool is_pointer = true) {
  info.timeout_argument = argument;
  info.timeout_is_pointer = is_pointer;
  return info;
}

// Numbers and argument orders: arch/x86/entry/syscalls/syscall_64.tbl of Linux and section 2 of the
// man-pages.
constexpr std::array kX86Table = {
    on_fd(0, "read"),
    on_fd(1, "write"),
    on_path(2, "open", 0),
    on_fd(3, "close"),
    on_path(4, "stat", 0),
    on_fd(5, "fstat"),
    on_path(6, "lstat", 0),
    timed(plain(7, "poll", SyscallKind::kPoll), 2, false),
    on_fd(8, "lseek"),
    on_fd(9, "mmap", SyscallKind::kOther, 4),
    plain(11, "munmap", SyscallKind::kOther),
    on_fd(16, "ioctl", SyscallKind::kIoctl),
    on_fd(17, "pread64"),
    on_fd(18, "pwrite64"),
    on_fd(19, "readv"),
    on_fd(20, "writev"),
    on_path(21, "access", 0),
    timed(plain(23, "select", SyscallKind::kSelect), 4),
    plain(24, "sched_yield", SyscallKind::kYield),
    plain(26, "msync", SyscallKind::kOther),
    plain(28, "madvise", SyscallKind::kOther),
    plain(34, "pause", SyscallKind::kSignalWait),
    plain(35, "nanosleep", SyscallKind::kSleep),
    on_fd(40, "sendfile", SyscallKind::kFile, 1),
    on_fd(42, "connect", SyscallKind::kSocket),
    on_fd(43, "accept", SyscallKind::kSocket),
    on_fd(44, "sendto", SyscallKind::kSocket),
    on_fd(45, "recvfrom", SyscallKind::kSocket),
    on_fd(46, "sendmsg", SyscallKind::kSocket),
    on_fd(47, "recvmsg", SyscallKind::kSocket),
    plain(56, "clone", SyscallKind::kVfork),
    plain(57, "fork", SyscallKind::kOther),
    plain(58, "vfork", SyscallKind::kVfork),
    on_path(59, "execve", 0),
    plain(60, "exit", SyscallKind::kOther),
    plain(61, "wait4", SyscallKind::kWait4),
    plain(65, "semop", SyscallKind::kSemaphore),
    plain(69, "msgsnd", SyscallKind::kSemaphore),
    plain(70, "msgrcv", SyscallKind::kSemaphore),
    on_fd(72, "fcntl", SyscallKind::kFcntl),
    on_fd(73, "flock", SyscallKind::kFlock),
    on_fd(74, "fsync"),
    on_fd(75, "fdatasync"),
    on_path(76, "truncate", 0),
    on_fd(77, "ftruncate"),
    on_fd(78, "getdents"),
    on_path(80, "chdir", 0),
    on_path(82, "rename", 0),
    on_path(83, "mkdir", 0),
    on_path(84, "rmdir", 0),
    on_path(85, "creat", 0),
    on_path(86, "link", 0),
    on_path(87, "unlink", 0),
    on_path(88, "symlink", 1),
    on_path(89, "readlink", 0),
    on_path(90, "chmod", 0),
    on_path(92, "chown", 0),
    timed(plain(128, "rt_sigtimedwait", SyscallKind::kSignalWait), 2),
    plain(130, "rt_sigsuspend", SyscallKind::kSignalWait),
    on_path(137, "statfs", 0),
    on_fd(138, "fstatfs"),
    plain(162, "sync", SyscallKind::kOther),
    on_path(188, "setxattr", 0),
    on_path(191, "getxattr", 0),
    timed(plain(202, "futex", SyscallKind::kFutex), 3),
    on_fd(217, "getdents64"),
    plain(219, "restart_syscall", SyscallKind::kRestarted),
    timed(plain(220, "semtimedop", SyscallKind::kSemaphore), 3),
    plain(230, "clock_nanosleep", SyscallKind::kSleep),
    plain(231, "exit_group", SyscallKind::kOther),
    timed(on_fd(232, "epoll_wait", SyscallKind::kEpoll), 3, false),
    timed(plain(242, "mq_timedsend", SyscallKind::kSemaphore), 4),
    timed(plain(243, "mq_timedreceive", SyscallKind::kSemaphore), 4),
    plain(247, "waitid", SyscallKind::kWaitid),
    on_path(257, "openat", 1, 0),
    on_path(258, "mkdirat", 1, 0),
    on_path(262, "newfstatat", 1, 0),
    on_path(263, "unlinkat", 1, 0),
    on_path(264, "renameat", 1, 0),
    on_path(267, "readlinkat", 1, 0),
    on_path(269, "faccessat", 1, 0),
    timed(plain(270, "pselect6", SyscallKind::kSelect), 4),
    timed(plain(271, "ppoll", SyscallKind::kPoll), 2),
    on_fd(275, "splice"),
    on_fd(277, "sync_file_range"),
    timed(on_fd(281, "epoll_pwait", SyscallKind::kEpoll), 3, false),
    on_fd(285, "fallocate"),
    on_fd(288, "accept4", SyscallKind::kSocket),
    on_fd(295, "preadv"),
    on_fd(296, "pwritev"),
    timed(on_fd(299, "recvmmsg", SyscallKind::kSocket), 4),
    on_fd(306, "syncfs"),
    on_fd(307, "sendmmsg", SyscallKind::kSocket),
    on_path(316, "renameat2", 1, 0),
    plain(323, "userfaultfd", SyscallKind::kOther),
    on_fd(326, "copy_file_range"),
    on_fd(327, "preadv2"),
    on_fd(328, "pwritev2"),
    on_path(332, "statx", 1, 0),
    plain(425, "io_uring_setup", SyscallKind::kOther),
    on_fd(426, "io_uring_enter"),
    plain(435, "clone3", SyscallKind::kVfork),
    on_path(437, "openat2", 1, 0),
    on_path(439, "faccessat2", 1, 0),
    timed(on_fd(441, "epoll_pwait2", SyscallKind::kEpoll), 3),
    plain(449, "futex_waitv", SyscallKind::kOther),
};

// The generic numbers (include/uapi/asm-generic/unistd.h), which aarch64 has. Calls that have a
// newer form are missing there; the others have the same arguments.
struct NumberedCall {
  std::int32_t number;
  std::string_view name;
};
// clang-format off
constexpr std::array kAarch64Calls = std::to_array<NumberedCall>({
    {5, "setxattr"}, {8, "getxattr"}, {22, "epoll_pwait"}, {25, "fcntl"},
    {29, "ioctl"}, {32, "flock"}, {34, "mkdirat"}, {35, "unlinkat"},
    {38, "renameat"}, {43, "statfs"}, {44, "fstatfs"}, {45, "truncate"},
    {46, "ftruncate"}, {47, "fallocate"}, {48, "faccessat"}, {49, "chdir"},
    {56, "openat"}, {57, "close"}, {61, "getdents64"}, {62, "lseek"},
    {63, "read"}, {64, "write"}, {65, "readv"}, {66, "writev"},
    {67, "pread64"}, {68, "pwrite64"}, {69, "preadv"}, {70, "pwritev"},
    {71, "sendfile"}, {72, "pselect6"}, {73, "ppoll"}, {76, "splice"},
    {78, "readlinkat"}, {79, "newfstatat"}, {80, "fstat"}, {81, "sync"},
    {82, "fsync"}, {83, "fdatasync"}, {84, "sync_file_range"}, {93, "exit"},
    {94, "exit_group"}, {95, "waitid"}, {98, "futex"}, {101, "nanosleep"},
    {115, "clock_nanosleep"}, {124, "sched_yield"}, {128, "restart_syscall"}, {133, "rt_sigsuspend"},
    {137, "rt_sigtimedwait"}, {182, "mq_timedsend"}, {183, "mq_timedreceive"}, {188, "msgrcv"},
    {189, "msgsnd"}, {192, "semtimedop"}, {193, "semop"}, {202, "accept"},
    {203, "connect"}, {206, "sendto"}, {207, "recvfrom"}, {211, "sendmsg"}, {212, "recvmsg"}, {215, "munmap"},
    {220, "clone"}, {221, "execve"}, {222, "mmap"}, {227, "msync"},
    {233, "madvise"}, {242, "accept4"}, {243, "recvmmsg"}, {260, "wait4"},
    {267, "syncfs"}, {269, "sendmmsg"}, {276, "renameat2"}, {282, "userfaultfd"},
    {285, "copy_file_range"}, {286, "preadv2"}, {287, "pwritev2"}, {291, "statx"},
    {425, "io_uring_setup"}, {426, "io_uring_enter"}, {435, "clone3"}, {437, "openat2"},
    {439, "faccessat2"}, {441, "epoll_pwait2"}, {449, "futex_waitv"},
});
// clang-format on

constexpr auto make_aarch64_table() {
  std::array<SyscallInfo, kAarch64Calls.size()> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    for (const SyscallInfo& info : kX86Table) {
      if (info.name == kAarch64Calls[i].name) {
        table[i] = info;
        table[i].number = kAarch64Calls[i].number;
      }
    }
  }
  return table;
}
constexpr std::array kAarch64Table = make_aarch64_table();

// Whether the table is in order, and has no row that was not found by its name.
template <typename Table>
constexpr bool is_sorted_by_number(const Table& table) {
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (table[i - 1].number >= table[i].number) {
      return false;
    }
  }
  return true;
}
static_assert(is_sorted_by_number(kX86Table));
static_assert(is_sorted_by_number(kAarch64Table));

}  // namespace

std::span<const SyscallInfo> syscall_table(Machine machine) {
  if (machine == Machine::kAmd64) {
    return kX86Table;
  }
  return kAarch64Table;
}

const SyscallInfo* find_syscall(std::int64_t number, Machine machine) {
  const auto table = syscall_table(machine);
  const auto at = std::lower_bound(
      table.begin(), table.end(), number,
      [](const SyscallInfo& info, std::int64_t wanted) { return info.number < wanted; });
  return at != table.end() && at->number == number ? &*at : nullptr;
}

std::string syscall_name(std::int64_t number, Machine machine) {
  if (const SyscallInfo* info = find_syscall(number, machine)) {
    return std::string(info->name);
  }
  return number < 0 ? std::string() : "system call " + std::to_string(number);
}

}  // namespace oddrank::waits
