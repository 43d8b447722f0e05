// Threads that wait for no other thread, each in its own way. Prints "ready NAME=TID ..." when
// all of them run:
//   spins     reads a word in memory for ever
//   yields    the same, and gives up the CPU between reads (as NCCL and MPI do)
//   polls     reads it every few milliseconds, and sleeps between
//   works     computes, in one function after the other
//   sleeps    for a long time (main)
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <thread>

namespace {

std::atomic<bool> never{false};
std::atomic<long> told{0};

void start(const char* name, void (*work)()) {
  told = 0;
  std::thread([work] {
    told = ::syscall(SYS_gettid);
    work();
  }).detach();
  while (told == 0) {
    std::this_thread::yield();
  }
  std::printf(" %s=%ld", name, told.load());
}

void spins() {
  while (!never) {
  }
}

void yields() {
  while (!never) {
    ::sched_yield();
  }
}

void polls() {
  const timespec pause{0, 20'000'000};
  while (!never) {
    (void)::nanosleep(&pause, nullptr);
  }
}

void burn(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Goes deeper all the time, so that no two samples within a few seconds find the same stack.
void go_deeper(int depth) {
  burn(std::chrono::milliseconds(10));
  if (depth < 1000) {
    go_deeper(depth + 1);
  }
  never = false;  // so that the call does not become a jump
}

void works() {
  while (!never) {
    go_deeper(0);
  }
}

}  // namespace

int main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::printf("ready");
  start("spins", spins);
  start("yields", yields);
  start("polls", polls);
  start("works", works);
  std::printf(" sleeps=%ld\n", static_cast<long>(::getpid()));
  (void)std::fflush(stdout);
  const timespec hour{3600, 0};
  (void)::nanosleep(&hour, nullptr);
}
