#include "waits/wait_of_thread.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "snapshot/capture.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"
#include "tests/support/sentence_of.h"
#include "waits/syscall_table.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using attach::SyscallState;
using attach::ThreadState;
using snapshot::Known;
using snapshot::WaitHow;
using snapshot::WaitOn;

class FakeFiles final : public ProcessFiles {
 public:
  std::map<int, std::string> links;
  std::map<int, std::string> infos;
  std::string locks;
  std::string mounted;
  std::string freezes;
  std::map<clockid_t, std::uint64_t> clocks;  // seconds

  std::uint64_t clock_us(clockid_t clock) const override {
    return clocks.count(clock) > 0 ? clocks.at(clock) * 1'000'000 : 0;
  }
  std::string folder() const override { return "/home/ada"; }
  std::string link(int fd) const override { return links.count(fd) > 0 ? links.at(fd) : ""; }
  std::string info(int fd) const override { return infos.count(fd) > 0 ? infos.at(fd) : ""; }
  std::string locked_files() const override { return locks; }
  std::string mounts() const override { return mounted; }
  std::string freezer() const override { return freezes; }
};

constexpr pid_t kPid = 4711;
constexpr auto kHere = static_cast<std::uint32_t>(AT_FDCWD);
const std::string kPoll = syscall_name(test::kPollCall);

struct WaitScene {
  test::FakeTarget target{kPid};
  FakeFiles files;
  std::vector<ThreadState> threads = {ThreadState{}};

  WaitScene() {
    threads[0].tid = kPid;
    threads[0].target_tid = kPid;
    threads[0].state = 'S';
  }
  ThreadState& main() { return threads[0]; }

  ThreadWait blocked_in(std::int64_t number,
                        std::array<std::uint64_t, 6> arguments,
                        std::string wchan = "") {
    main().syscall = SyscallState{number, arguments};
    main().wchan = std::move(wchan);
    return wait();
  }
  // In poll(), as this machine's C library calls it. limit_ms: -1 = none.
  ThreadWait polls(std::uint64_t list, std::uint64_t count, std::int32_t limit_ms = -1) {
    constexpr Addr kTime{0x7800};
    if (test::kPollCall == SYS_ppoll) {
      target.add_object(kTime, timespec{limit_ms / 1000, limit_ms % 1000 * 1000000L});
      return blocked_in(SYS_ppoll, {list, count, limit_ms < 0 ? 0 : value_of(kTime)});
    }
    return blocked_in(test::kPollCall, {list, count, static_cast<std::uint32_t>(limit_ms)});
  }
  ThreadWait wait() { return wait_of_thread({target, files, threads, threads[0]}); }

  std::string says(const ThreadWait& wait) {
    snapshot::Capture capture;
    snapshot::ProcessCapture process;
    process.pid = kPid;
    snapshot::ThreadCapture& thread = process.threads.emplace_back();
    thread.tid = main().tid;
    thread.samples.emplace_back().state = main().state;
    thread.wait = to_capture(wait, capture.tables);
    return tests::sentence_of(capture, process, thread);
  }
};

TEST_CASE("read of a file names the file") {
  WaitScene scene;
  scene.files.links[7] = "/data/shard-7.tar";
  const ThreadWait wait = scene.blocked_in(SYS_read, {7, 0x1000, 512});
  CHECK(wait.on == WaitOn::kFile);
  CHECK(wait.syscall == SYS_read);
  CHECK(wait.syscall_name == "read");
  CHECK(wait.fd == 7);
  CHECK(wait.path == "/data/shard-7.tar");
  CHECK(scene.says(wait) == "in read() of /data/shard-7.tar");
}

TEST_CASE("state D keeps the file and shows the kernel function") {
  WaitScene scene;
  scene.main().state = 'D';
  scene.files.links[7] = "/nfs/x";
  const ThreadWait wait = scene.blocked_in(SYS_read, {7, 0x1000, 512}, "nfs_wait_bit_killable");
  CHECK(wait.on == WaitOn::kFile);
  CHECK(scene.says(wait) ==
        "in read() of /nfs/x, state D in nfs_wait_bit_killable (waits for NFS)");
}

TEST_CASE("a file on a server names the server, one on a disk its disk only in state D") {
  WaitScene scene;
  scene.files.mounted =
      "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n40 22 0:52 / /nfs rw - nfs4 filer:/export rw\n";
  scene.files.links[7] = "/nfs/x";
  CHECK(scene.says(scene.blocked_in(SYS_read, {7, 0x1000, 512})) ==
        "in read() of /nfs/x, on nfs4 filer:/export at /nfs");
  scene.files.links[7] = "/disk/x";
  CHECK(scene.says(scene.blocked_in(SYS_read, {7, 0x1000, 512})) == "in read() of /disk/x");
  scene.main().state = 'D';
  CHECK(scene.says(scene.blocked_in(SYS_read, {7, 0x1000, 512}, "folio_wait_bit_common")) ==
        "in read() of /disk/x, state D in folio_wait_bit_common (waits for a page of a file), on "
        "ext4 /dev/vda1 at /");
}

TEST_CASE("if the system call may not be read, the kernel function counts") {
  WaitScene scene;
  scene.main().wchan = "pipe_read";
  CHECK(scene.wait().on == WaitOn::kPipe);
  scene.main().wchan = "do_wait";
  CHECK(scene.wait().on == WaitOn::kChild);
  scene.main().wchan = "nfs_start_io_read";
  CHECK(scene.wait().on == WaitOn::kFile);
  scene.main().wchan = "something_new";
  CHECK(scene.wait().on == WaitOn::kUnknown);
  CHECK(scene.says(scene.wait()) == "sleeps in something_new");
  scene.main().wchan = "0";
  CHECK(scene.says(scene.wait()).empty());
  CHECK(scene.wait().wchan.empty());
}

TEST_CASE("the kernel function is compared word by word") {
  WaitScene scene;
  scene.main().wchan = "ll_wait_lock";
  CHECK(scene.wait().on == WaitOn::kFile);
  scene.main().wchan = "poll_schedule_timeout.constprop.0";  // not Lustre's "ll_"
  CHECK(scene.wait().on == WaitOn::kUnknown);
}

TEST_CASE("a call that is not known waits for no file, unless it is in state D") {
  WaitScene scene;
  CHECK(scene.blocked_in(9999, {}, "nfs_wait_on_request").on == WaitOn::kUnknown);
  scene.main().state = 'D';
  CHECK(scene.blocked_in(9999, {}, "nfs_wait_on_request").on == WaitOn::kFile);
}

TEST_CASE("a call that was begun again returns by itself") {
  WaitScene scene;
  const ThreadWait wait = scene.blocked_in(SYS_restart_syscall, {}, "poll_schedule_timeout");
  CHECK(wait.on == WaitOn::kUnknown);
  CHECK(wait.syscall_name == "restart_syscall");
  CHECK(wait.limited);
}

TEST_CASE("a page fault is no system call") {
  WaitScene scene;
  scene.main().state = 'D';
  const ThreadWait wait = scene.blocked_in(-1, {}, "folio_wait_bit_common");
  CHECK(wait.on == WaitOn::kFile);
  CHECK(wait.syscall == -1);
  CHECK(scene.says(wait).find("page fault") != std::string::npos);
}

TEST_CASE("states that are no wait in a system call") {
  WaitScene scene;
  scene.main().state = 'R';
  CHECK(scene.wait().on == WaitOn::kNothing);
  scene.main().state = 'T';
  CHECK(scene.wait().on == WaitOn::kSignal);
  scene.main().state = 't';
  scene.main().tracer = 99;
  CHECK(scene.wait().on == WaitOn::kDebugger);
  CHECK(scene.wait().holder_pid == 99);
  scene.main().state = 'Z';
  CHECK(scene.says(scene.wait()) == "ended");
}

TEST_CASE("a frozen thread is frozen, whatever call it was in") {
  WaitScene scene;
  scene.main().syscall = SyscallState{SYS_read, {3}};
  scene.main().wchan = "do_freezer_trap";
  CHECK(scene.wait().on == WaitOn::kSignal);
  scene.main().wchan = "get_signal";
  CHECK(scene.wait().how == WaitHow::kFrozen);
  CHECK(scene.says(scene.wait()) == "frozen by its cgroup (get_signal)");
  scene.main().state = 'T';
  CHECK(scene.says(scene.wait()).find("SIGSTOP") != std::string::npos);
  scene.main().state = 'D';
  scene.main().wchan = "__refrigerator";
  CHECK(scene.says(scene.wait()) == "frozen by its cgroup (__refrigerator)");
}

TEST_CASE("a frozen thread that sleeps on is recognised by its cgroup") {
  WaitScene scene;
  scene.files.freezes = "FROZEN";
  scene.main().state = 'D';
  CHECK(scene.says(scene.blocked_in(SYS_nanosleep, {}, "hrtimer_nanosleep")) ==
        "frozen by its cgroup (freezer.state)");
  CHECK(scene.wait().on == WaitOn::kSignal);
  scene.files.freezes = "FREEZING";
  CHECK(scene.wait().on == WaitOn::kUnknown);
  scene.files.freezes = "FROZEN";
  scene.main().state = 'S';
  scene.main().wchan = "0";  // a kernel that does not tell where a thread sleeps
  CHECK(scene.wait().how == WaitHow::kFrozen);
  scene.main().wchan = "hrtimer_nanosleep";  // elsewhere, state S does not read the cgroup
  CHECK(scene.says(scene.wait()) == "sleeps (nanosleep)");
}

TEST_CASE("poll of one pipe beside counters that wake the program itself") {
  WaitScene scene;
  scene.files.links[5] = "anon_inode:[eventfd]";
  scene.files.links[6] = "pipe:[31]";
  scene.target.add_object(Addr{0x7000}, std::array{pollfd{5, POLLIN, 0}, pollfd{6, POLLIN, 0}});
  const ThreadWait wait = scene.polls(0x7000, 2);
  CHECK(wait.on == WaitOn::kPipe);
  CHECK(wait.fd == 6);
  CHECK(wait.path == "pipe:[31]");
  CHECK(wait.inferred);
  CHECK(scene.says(wait) == "in " + kPoll + "() of pipe:[31] (and its own wakers)");
}

TEST_CASE("poll of one pipe is a wait for that pipe") {
  WaitScene scene;
  scene.files.links[5] = "pipe:[31]";
  scene.target.add_object(Addr{0x7000}, pollfd{5, POLLIN, 0});
  const ThreadWait wait = scene.polls(0x7000, 1, 5000);
  CHECK(wait.on == WaitOn::kPipe);
  CHECK(wait.fd == 5);
  CHECK(wait.path == "pipe:[31]");
  CHECK(wait.limited);
  CHECK(wait.limit_ms == 5000);
  CHECK(scene.says(wait) == "in " + kPoll + "() of pipe:[31], for 5000 ms at most");
}

TEST_CASE("how long a sleep or a wait for a lock still lasts") {
  WaitScene scene;
  scene.files.clocks = {{CLOCK_MONOTONIC, 1000}, {CLOCK_REALTIME, 50000}};
  constexpr std::uint64_t kTime = 0x7800;
  const auto set = [&scene](timespec time) { scene.target.add_object(Addr{kTime}, time); };
  const auto sleeps = [&](clockid_t clock, int flags) {
    return scene.blocked_in(SYS_clock_nanosleep, {static_cast<std::uint64_t>(clock),
                                                  static_cast<std::uint64_t>(flags), kTime, 0});
  };
  const auto locks = [&](std::uint64_t operation) {
    return scene.blocked_in(SYS_futex, {0x1000, operation, 0, kTime});
  };
  set({4480, 500'000'000});
  CHECK(sleeps(CLOCK_MONOTONIC, TIMER_ABSTIME).limit_ms == 3'480'500);
  CHECK(scene.says(sleeps(CLOCK_MONOTONIC, TIMER_ABSTIME)) ==
        "sleeps (clock_nanosleep), for 58 min more at most");
  CHECK(sleeps(CLOCK_REALTIME, 0).limit_ms == 4'480'500);  // a span
  CHECK(scene.blocked_in(SYS_nanosleep, {kTime, 0}).limit_ms == 4'480'500);
  CHECK(sleeps(CLOCK_BOOTTIME, TIMER_ABSTIME).limit_ms == -1);
  CHECK(locks(FUTEX_WAIT_BITSET_PRIVATE).limit_ms == 3'480'500);
  CHECK(locks(FUTEX_WAIT_PRIVATE).limit_ms == 4'480'500);
  CHECK(locks(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME).limit_ms == 0);  // it is over
  CHECK(scene.blocked_in(SYS_futex, {0x1000, FUTEX_WAIT_BITSET, 0, 0}).limit_ms == -1);
  set({50060, 0});
  CHECK(locks(FUTEX_LOCK_PI).limit_ms == 60'000);
  set({INT64_MAX, 0});
  CHECK(locks(FUTEX_WAIT).limit_ms == -1);
}

TEST_CASE("the longest wait of an event loop is no time limit") {
  WaitScene scene;
  constexpr std::uint64_t kDayMs = 24 * 3600 * 1000;
  CHECK_FALSE(scene.blocked_in(SYS_epoll_pwait, {7, 0x1000, 8, kDayMs}).limited);
  CHECK(scene.blocked_in(SYS_epoll_pwait, {7, 0x1000, 8, kDayMs - 1}).limited);
}

TEST_CASE("the time limit of ppoll is read") {
  WaitScene scene;
  const auto limit_of = [&scene](timespec limit) {
    scene.target.add_object(Addr{0x7800}, limit);
    return scene.blocked_in(SYS_ppoll, {0, 0, 0x7800}).limit_ms;
  };
  CHECK(limit_of({5, 250000000}) == 5250);
  CHECK(limit_of({0, 0}) == 0);
  CHECK(limit_of({-1, 0}) == -1);
  CHECK(limit_of({INT64_MAX, 999999999}) == -1);
  CHECK(limit_of({1, 1000000000}) == -1);
  const ThreadWait wait = scene.blocked_in(SYS_ppoll, {0, 0, 0x10});
  CHECK(wait.limited);
  CHECK(wait.limit_ms == -1);
}

TEST_CASE("poll of several files lists them and has a kind only if all share it") {
  WaitScene scene;
  scene.files.links[5] = "socket:[1]";
  scene.files.links[6] = "socket:[2]";
  scene.target.add_object(Addr{0x7000},
                          std::array{pollfd{5, POLLIN, 0}, pollfd{-1, 0, 0}, pollfd{6, POLLIN, 0}});
  ThreadWait wait = scene.polls(0x7000, 3);
  CHECK(wait.on == WaitOn::kSocket);
  CHECK(wait.fd == -1);
  CHECK(wait.how == WaitHow::kFiles);
  CHECK(wait.awaited_count == 2);
  REQUIRE(wait.awaited.size() == 2);
  CHECK(wait.awaited[1].fd == 6);
  CHECK(wait.awaited[1].link == "socket:[2]");
  CHECK_FALSE(wait.limited);
  CHECK(scene.says(wait) == "in " + kPoll + "() of 2 files (5 socket:[1], 6 socket:[2])");
  scene.files.links[6] = "pipe:[2]";
  wait = scene.polls(0x7000, 3);
  CHECK(wait.on == WaitOn::kUnknown);
}

TEST_CASE("thousands of files are all counted") {
  WaitScene scene;
  for (const std::size_t count : {1025U, 10240U, 65537U, 655360U}) {
    INFO(count);
    const std::vector<pollfd> list(count, pollfd{5, POLLIN, 0});
    scene.target.add_memory(Addr{0x10000}, std::as_bytes(std::span(list)));
    CHECK(scene.polls(0x10000, count).awaited_count == count);
    std::string watched = "pos:\t0\nflags:\t02\n";
    for (std::size_t i = 0; i < count; ++i) {
      watched += "tfd:        9 events:       1f data: 9  pos:0\n";
    }
    scene.files.infos[4] = watched;
    ThreadWait wait = scene.blocked_in(test::kEpollWaitCall, {4, 0, 64, ~0ULL});
    CHECK(wait.awaited_count == count);
    CHECK(wait.notes.empty());
    scene.files.infos[4] += "tfd:  ";
    wait = scene.blocked_in(test::kEpollWaitCall, {4, 0, 64, ~0ULL});
    CHECK(wait.notes == "it waits for more files than these " + std::to_string(count));
  }
  const std::vector<std::uint64_t> set(10240 / 64, ~0ULL);
  scene.target.add_memory(Addr{0x10000000}, std::as_bytes(std::span(set)));
  const ThreadWait wait = scene.blocked_in(SYS_pselect6, {10240, 0x10000000, 0, 0, 0, 0});
  CHECK(wait.awaited_count == 10240);
}

TEST_CASE("hostile arguments of poll and select are described in words") {
  WaitScene scene;
  CHECK(scene.polls(0x10, ~0ULL, 0).on == WaitOn::kUnknown);
  CHECK(scene.polls(0, 0, 100).on == WaitOn::kUnknown);
  CHECK(scene.blocked_in(SYS_pselect6, {~0ULL, 0x10, 0x20, 0x30, 0, 0}).on == WaitOn::kUnknown);
  CHECK(scene.blocked_in(test::kEpollWaitCall, {~0ULL, 0, 0, 0}).on == WaitOn::kUnknown);
}

TEST_CASE("select reads its sets") {
  WaitScene scene;
  scene.files.links[70] = "socket:[8]";
  scene.target.add_object(Addr{0x7000}, std::array<std::uint64_t, 2>{0, 1U << 6});
  const ThreadWait wait = scene.blocked_in(SYS_pselect6, {71, 0x7000, 0, 0, 0, 0});
  CHECK(wait.on == WaitOn::kSocket);
  CHECK(wait.fd == 70);
}

TEST_CASE("the files of an epoll are read from fdinfo") {
  WaitScene scene;
  scene.files.links[9] = "socket:[8]";
  scene.files.infos[4] = "pos:\t0\nflags:\t02\ntfd:        9 events:       1f data: 9  pos:0\n";
  const ThreadWait wait = scene.blocked_in(test::kEpollWaitCall, {4, 0, 64, ~0ULL});
  CHECK(wait.on == WaitOn::kSocket);
  CHECK(wait.fd == 9);
}

struct Mutex {
  std::uint32_t lock;
  std::uint32_t count;
  std::int32_t owner;
  std::uint32_t users;
  std::int32_t kind;
};

TEST_CASE("a contended mutex shows its owner") {
  WaitScene scene;
  ThreadState other;
  other.tid = 5000;
  other.target_tid = 50;
  scene.threads.push_back(other);
  scene.target.add_object(Addr{0x9000}, Mutex{2, 0, 50, 1, 0});
  const ThreadWait wait =
      scene.blocked_in(SYS_futex, {0x9000, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, 0, 0, 0});
  CHECK(wait.on == WaitOn::kLock);
  CHECK(wait.address == 0x9000);
  CHECK(wait.holder_pid == kPid);
  CHECK(wait.holder_tid == 5000);
  CHECK(wait.holder_alive == Known::kYes);
  CHECK(wait.how == WaitHow::kLock);
  CHECK(wait.lock.kind == snapshot::LockKind::kMutex);
  CHECK(wait.lock.owner == snapshot::LockOwner::kThread);
  CHECK(scene.says(wait) == "mutex locked by thread 5000");
}

TEST_CASE("a mutex whose owner is no thread of the process names no holder") {
  WaitScene scene;
  scene.target.add_object(Addr{0x9000}, Mutex{2, 0, 50, 1, 0});
  const ThreadWait wait =
      scene.blocked_in(SYS_futex, {0x9000, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, 0, 0, 0});
  CHECK(wait.holder_tid == 0);
  CHECK(wait.holder_alive == Known::kNo);
  CHECK(wait.lock.owner == snapshot::LockOwner::kNotHere);
  CHECK(wait.lock.owner_tid == 50);
  CHECK(scene.says(wait) ==
        "mutex locked by thread 50, which this process does not have (ended, or left behind by a "
        "fork)");
}

TEST_CASE("locks without an owner in memory have none") {
  WaitScene scene;
  // A lock of another kind behind which no mutex lies, and an address that cannot be read.
  scene.target.add_object(Addr{0x9000}, Mutex{2, 0, 50, 0, 0});
  const auto operation = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
  CHECK(scene.blocked_in(SYS_futex, {0x9000, operation, 2, 0, 0, 0}).holder_alive ==
        Known::kUnknown);
  CHECK(scene.blocked_in(SYS_futex, {0x10, operation, 2, 0, 0, 0}).holder_alive == Known::kUnknown);
  const ThreadWait semaphore =
      scene.blocked_in(SYS_futex, {0x9000, 0x189, 0, 0x5000, 0, 0xffffffff});
  CHECK(semaphore.on == WaitOn::kLock);
  CHECK(semaphore.lock.kind == snapshot::LockKind::kUnknown);
  CHECK(semaphore.limited);
  CHECK(semaphore.limit_ms == -1);
  CHECK(scene.says(semaphore) == "semaphore, condition or join, with a time limit");
}

TEST_CASE("what processes share is said to be shared") {
  WaitScene scene;
  attach::Mapping memory;
  memory.start = 0x9000;
  memory.end = 0xa000;
  memory.shared = true;
  scene.target.add_mapping(memory);
  scene.target.add_object(Addr{0x9000}, std::array<std::uint64_t, 8>{});
  const auto waits = [&scene](int operation) {
    return scene.blocked_in(SYS_futex, {0x9000, static_cast<std::uint64_t>(operation), 0, 0, 0, 0});
  };
  CHECK(waits(FUTEX_WAIT).lock.shared);
  CHECK(scene.says(waits(FUTEX_WAIT)) ==
        "semaphore, condition or join, in memory that processes share");
  // The kernel wakes no other process from this one.
  CHECK_FALSE(waits(FUTEX_WAIT | FUTEX_PRIVATE_FLAG).lock.shared);
  CHECK_FALSE(WaitScene().blocked_in(SYS_futex, {0x9000, FUTEX_WAIT, 0, 0, 0, 0}).lock.shared);
  const ThreadWait queue = scene.blocked_in(SYS_mq_timedreceive, {3, 0x5000, 8192, 0, 0, 0});
  CHECK(queue.on == WaitOn::kLock);
  CHECK(queue.lock.shared);
}

TEST_CASE("wait4 of one child names it, of any child names no holder") {
  WaitScene scene;
  ThreadWait wait = scene.blocked_in(SYS_wait4, {4800, 0, 0, 0});
  CHECK(wait.on == WaitOn::kChild);
  CHECK(wait.holder_pid == 4800);
  wait = scene.blocked_in(SYS_wait4, {0xffffffff, 0, 0, 0});
  CHECK(wait.on == WaitOn::kChild);
  CHECK(wait.holder_pid == 0);
  wait = scene.blocked_in(SYS_waitid, {P_PID, 4801, 0, 0});
  CHECK(wait.holder_pid == 4801);
  scene.files.infos[6] = "pos:\t0\nPid:\t4802\nNSpid:\t4802\n";
  wait = scene.blocked_in(SYS_waitid, {P_PIDFD, 6, 0, 0});
  CHECK(wait.holder_pid == 4802);
}

TEST_CASE("a pid of another namespace is not taken for one of ours") {
  WaitScene scene;
  scene.main().target_tid = 1;
  const ThreadWait wait = scene.blocked_in(SYS_wait4, {12, 0, 0, 0});
  CHECK(wait.holder_pid == 0);
  CHECK(scene.says(wait) == "waits for child pid 12 (of its own pid namespace)");
}

TEST_CASE("the kernel's table names the holder of a flock") {
  WaitScene scene;
  scene.files.links[3] = "/data/.lock";
  scene.files.infos[3] = "pos:\t0\nino:\t77\n";
  scene.files.locks =
      "4: FLOCK  ADVISORY  WRITE 900 fe:00:77 0 EOF\n"
      "4: -> FLOCK  ADVISORY  WRITE 4711 fe:00:77 0 EOF\n";
  ThreadWait wait = scene.blocked_in(SYS_flock, {3, 2});
  CHECK(wait.on == WaitOn::kFileLock);
  CHECK(wait.path == "/data/.lock");
  CHECK(wait.holder_pid == 900);
  scene.files.locks.clear();
  wait = scene.blocked_in(SYS_fcntl, {3, F_SETLKW, 0x1000});
  CHECK(wait.on == WaitOn::kFileLock);
  CHECK(wait.holder_pid == 0);
  CHECK(scene.blocked_in(SYS_fcntl, {3, F_GETFL, 0}).on == WaitOn::kFile);
}

TEST_CASE("an open names the path that it was given") {
  WaitScene scene;
  scene.target.add_memory(Addr{0x5000}, std::string_view("/data/x\n.tar\0rest", 17));
  ThreadWait wait = scene.blocked_in(SYS_openat, {kHere, 0x5000, 0}, "wait_for_partner");
  CHECK(wait.on == WaitOn::kFile);
  CHECK(wait.path == "/data/x?.tar");
  CHECK(scene.says(wait).find("FIFO") != std::string::npos);
  wait = scene.blocked_in(SYS_openat, {kHere, 0x10, 0});
  CHECK(wait.path.empty());
  CHECK(scene.says(wait) == "in openat() of a path that could not be read");
}

TEST_CASE("a path relative to a directory gets the directory's name") {
  WaitScene scene;
  scene.files.links[4] = "/data";
  scene.target.add_memory(Addr{0x5000}, std::string_view("a/b\0", 4));
  CHECK(scene.blocked_in(SYS_newfstatat, {4, 0x5000, 0, 0}).path == "/data/a/b");
  CHECK(scene.blocked_in(SYS_openat, {kHere, 0x5000, 0}).path == "/home/ada/a/b");
}

TEST_CASE("a path without an end is cut") {
  WaitScene scene;
  scene.target.add_memory(Addr{0x5000}, std::string(10000, 'x'));
  CHECK(scene.blocked_in(SYS_openat, {kHere, 0x5000, 0}).path.size() ==
        std::string("/home/ada/").size() + 4096);
}

TEST_CASE("sleeping, signals and unknown system calls") {
  WaitScene scene;
  CHECK(scene.says(scene.blocked_in(SYS_clock_nanosleep, {1, 1, 0, 0})) ==
        "sleeps (clock_nanosleep)");
  CHECK(scene.blocked_in(SYS_clock_nanosleep, {1, 1, 0, 0}).on == WaitOn::kUnknown);
  CHECK(scene.blocked_in(test::kPauseCall, {}).on == WaitOn::kSignal);
  CHECK(scene.polls(0, 0).on == WaitOn::kSignal);
  CHECK(scene.blocked_in(SYS_ppoll, {}).on == WaitOn::kSignal);
  const ThreadWait wait = scene.blocked_in(9999, {}, "strange_wait");
  CHECK(wait.on == WaitOn::kUnknown);
  CHECK(wait.syscall == 9999);
  CHECK(wait.syscall_name == "system call 9999");
  CHECK(scene.says(wait) == "sleeps in strange_wait");
}

}  // namespace
}  // namespace oddrank::waits
