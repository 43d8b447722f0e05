#include "waits/syscall_table.h"

#include <sys/syscall.h>

#include <set>
#include <string>

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

TEST_CASE("numbers are those of this machine's headers") {
  CHECK(std::string(find_syscall(SYS_read)->name) == "read");
  CHECK(std::string(find_syscall(SYS_ppoll)->name) == "ppoll");
  CHECK(std::string(find_syscall(SYS_futex)->name) == "futex");
  CHECK(std::string(find_syscall(SYS_wait4)->name) == "wait4");
  CHECK(std::string(find_syscall(SYS_waitid)->name) == "waitid");
  CHECK(std::string(find_syscall(SYS_recvfrom)->name) == "recvfrom");
  CHECK(std::string(find_syscall(SYS_openat)->name) == "openat");
  CHECK(std::string(find_syscall(SYS_epoll_pwait)->name) == "epoll_pwait");
  CHECK(std::string(find_syscall(SYS_clock_nanosleep)->name) == "clock_nanosleep");
  CHECK(std::string(find_syscall(SYS_flock)->name) == "flock");
  CHECK(std::string(find_syscall(SYS_io_uring_enter)->name) == "io_uring_enter");
}

TEST_CASE("names are unique, and unknown numbers say so") {
  for (const Machine machine : {Machine::kAmd64, Machine::kAarch64}) {
    std::set<std::string> names;
    for (const SyscallInfo& info : syscall_table(machine)) {
      CHECK(names.emplace(info.name).second);
      CHECK(info.fd_argument < 6);
      CHECK(info.path_argument < 6);
      CHECK(info.timeout_argument < 6);
    }
  }
  CHECK(syscall_name(7, Machine::kAmd64) == "poll");
  CHECK(find_syscall(2, Machine::kAmd64)->path_argument == 0);  // open
  CHECK(syscall_name(73, Machine::kAarch64) == "ppoll");
  CHECK(find_syscall(-1) == nullptr);
  CHECK(find_syscall(100000) == nullptr);
  CHECK(syscall_name(SYS_read) == "read");
  CHECK(syscall_name(100000) == "system call 100000");
  CHECK(syscall_name(-1).empty());
}

}  // namespace
}  // namespace oddrank::waits
