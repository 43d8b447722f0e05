// A process with threads that run, in known places: `running MODE`. Prints, when they do,
//   ready ADDRESS TID
// ADDRESS, hexadecimal, of a 64-bit counter of their work, and TID of a thread that runs. Modes:
//   spin       main thread in inner, called by middle, outer, main; rbp and rbx are in use
//   thread     the same in a second thread; the main thread is in pause()
//   threads    the same in 8 threads
//   altstack   main thread in a handler that runs on a stack of its own, of a signal from inner
//   handlers   the same in a second thread
//   vdso       main thread reads the clock
//   malloc     main thread allocates and frees
//   yield      main thread in sched_yield()
//   naps       main thread sleeps for 50 us again and again
//   handmade   main thread in pause(), called by code that keeps its frame in rbx and saves it
//              nowhere: without registers its stack cannot be unwound
//   handmades  the same in 99 threads, each of which prints a line
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "tests/victims/machine/code.h"

namespace work {

volatile std::uint64_t done = 0;
volatile int sink = 0;

void ready() {
  std::printf("ready %lx %ld\n", reinterpret_cast<unsigned long>(&done), ::syscall(SYS_gettid));
  std::fflush(stdout);
}

[[gnu::noinline]] void spin() {
  ready();
  while (true) {
    done = done + 1;
  }
}

[[gnu::noinline]] void read_clock() {
  ready();
  timespec now{};
  while (true) {
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    done = done + 1;
  }
}

[[gnu::noinline]] void allocate() {
  ready();
  while (true) {
    void* volatile block = std::malloc(100 + done % 1000);
    std::free(block);
    done = done + 1;
  }
}

[[gnu::noinline]] void give_way() {
  ready();
  while (true) {
    ::sched_yield();
    done = done + 1;
  }
}

[[gnu::noinline]] void take_naps() {
  ready();
  const timespec nap{0, 50'000};
  while (true) {
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
    done = done + 1;
  }
}

void pause_for_ever() {
  ready();
  while (true) {
    ::pause();
  }
}

asm(".text\n"
    ".globl keep_frame_in_register\n"
    ".type keep_frame_in_register, %function\n"
    "keep_frame_in_register:\n" VICTIM_FRAME_IN_REGISTER
    ".size keep_frame_in_register, . - keep_frame_in_register\n");
extern "C" void keep_frame_in_register();

void on_signal(int) {
  spin();
}

// The array and the work after each call keep the frames from being optimised away.
[[gnu::noinline]] int inner(const std::string& mode) {
  volatile char space[200] = {};
  if (mode == "altstack") {
    std::raise(SIGUSR1);
  } else if (mode == "vdso") {
    read_clock();
  } else if (mode == "malloc") {
    allocate();
  } else if (mode == "yield") {
    give_way();
  } else if (mode == "naps") {
    take_naps();
  } else if (mode == "handmade") {
    ready();
    keep_frame_in_register();
  } else {
    spin();
  }
  return space[sink] + 1;
}

[[gnu::noinline]] int middle(const std::string& mode) {
  return inner(mode) + 1;
}

[[gnu::noinline]] int outer(const std::string& mode) {
  return middle(mode) + 1;
}

void take_own_stack() {
  static thread_local char stack[1 << 16];
  stack_t where{};
  where.ss_sp = stack;
  where.ss_size = sizeof stack;
  ::sigaltstack(&where, nullptr);
}

void* thread(void* mode) {
  take_own_stack();
  sink = outer(static_cast<const char*>(mode));
  return nullptr;
}

void start_threads(int count, const char* mode) {
  for (int i = 0; i < count; ++i) {
    pthread_t ignored{};
    ::pthread_create(&ignored, nullptr, thread, const_cast<char*>(mode));
  }
}

}  // namespace work

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "spin";
  struct sigaction action {};
  action.sa_handler = work::on_signal;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR1, &action, nullptr);
  if (mode == "thread" || mode == "threads" || mode == "handlers" || mode == "handmades") {
    const char* const each = mode == "handlers"    ? "altstack"
                             : mode == "handmades" ? "handmade"
                                                   : "spin";
    work::start_threads(mode == "threads" ? 8 : mode == "handmades" ? 99 : 1, each);
    while (true) {
      ::pause();
    }
  }
  work::take_own_stack();
  return work::outer(mode);
}
