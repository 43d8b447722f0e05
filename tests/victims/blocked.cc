// A process that is stuck in one way: `blocked MODE`. Prints, when it is about to be stuck,
//   ready ADDRESS VALUE NUMBER
// ADDRESS of an 8-byte object, its VALUE, both hexadecimal, and the tid of the stuck thread or pid
// of the child that MODE is about. Modes:
//   pause      main thread in pause()
//   read       main thread in read() of stdin
//   futex      a second thread named "waiter" waits for a mutex that the main thread holds, which
//              is in pause()
//   spin       main thread runs
//   vfork      main thread in state D: in vfork(), until its child, which is in pause(), exits
//   zombie     main thread in pause(), its child has exited with status 3 and is not reaped
//   child      main thread in pause(), its forked child too
//   hidden     as pause, but not dumpable: another process of the same user may not read it
//   fifo FILE  main thread in pause(), after it has mapped nothing but opened the FIFO
//   tarpit     as pause, but a process that reads the object waits until it is killed: its page
//              faults are never answered (userfaultfd), as if a file system were gone; exits with
//              status 77 if this machine does not allow that
//   exit       exits when a line arrives on stdin
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/victims/wait_in_vfork.h"

namespace {

volatile std::uint64_t object = 0;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

std::string ready_line(long number) {
  std::array<char, 96> line{};
  std::snprintf(line.data(), line.size(), "ready %lx %llx %ld\n",
                reinterpret_cast<unsigned long>(&object), static_cast<unsigned long long>(object),
                number);
  return line.data();
}

void ready(long number) {
  std::fputs(ready_line(number).c_str(), stdout);
  std::fflush(stdout);
}

[[noreturn]] void wait_for_ever() {
  while (true) {
    ::pause();
  }
}

void* waiter(void*) {
  ::prctl(PR_SET_NAME, "waiter");
  ready(::syscall(SYS_gettid));
  ::pthread_mutex_lock(&mutex);
  return nullptr;
}

[[noreturn]] void block_in_futex() {
  ::pthread_mutex_lock(&mutex);
  pthread_t thread{};
  ::pthread_create(&thread, nullptr, waiter, nullptr);
  wait_for_ever();
}

[[noreturn]] void have_child(bool ends) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ends) {
      ::_exit(3);
    }
    wait_for_ever();
  }
  ready(child);
  wait_for_ever();
}

// Returns an object in memory whose page faults are never answered; nullptr if that is not allowed.
volatile std::uint64_t* object_in_tarpit() {
  constexpr std::size_t kPage = 4096;
  void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int fd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC));
  if (page == MAP_FAILED || fd < 0) {
    return nullptr;
  }
  uffdio_api api{};
  api.api = UFFD_API;
  uffdio_register range{};
  range.range.start = reinterpret_cast<std::uintptr_t>(page);
  range.range.len = kPage;
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  const bool set = ::ioctl(fd, UFFDIO_API, &api) == 0 && ::ioctl(fd, UFFDIO_REGISTER, &range) == 0;
  return set ? static_cast<volatile std::uint64_t*>(page) : nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "pause";
  object = 0x6f646472616e6b00ULL + static_cast<std::uint64_t>(::getpid());
  if (mode == "futex") {
    block_in_futex();
  }
  if (mode == "vfork") {
    wait_in_vfork(ready_line(::getpid()));
  }
  if (mode == "zombie" || mode == "child") {
    have_child(mode == "zombie");
  }
  if (mode == "hidden") {
    ::prctl(PR_SET_DUMPABLE, 0);
  }
  if (mode == "tarpit") {
    const volatile std::uint64_t* stuck = object_in_tarpit();
    if (stuck == nullptr) {
      return 77;
    }
    std::printf("ready %lx 0 %d\n", reinterpret_cast<unsigned long>(stuck), ::getpid());
    std::fflush(stdout);
    wait_for_ever();
  }
  if (mode == "fifo" && count > 2 && ::open(arguments[2], O_RDWR) < 0) {
    return 2;
  }
  ready(::getpid());
  char byte = 0;
  if (mode == "read" || mode == "exit") {
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    return got == 1 ? 0 : 1;
  }
  if (mode == "spin") {
    while (true) {
      object = object + 0;
    }
  }
  wait_for_ever();
}
