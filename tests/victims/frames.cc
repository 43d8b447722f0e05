// A process whose threads stand still in known places: `frames MODE`. Each thread that gets stuck
// first prints its stack, found by the C library's own unwinder, as a reader from outside will find
// it:
//   stack TID ADDRESS ADDRESS ...        innermost first, hexadecimal, of block() and its callers
// Then, when all threads have printed, "ready PID". Modes:
//   read       main thread in read() of stdin, called by inner, middle, outer
//   threads    8 threads wait for a condition
//   signal     main thread in read(), in a handler of a signal that came in inner
//   altstack   the same, and the handler has a stack of its own
//   recursion  main thread in read(), 10000 calls deep
#include <execinfo.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace work {

volatile int sink = 0;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
unsigned waiting = 0;  // guarded by `mutex`

void print_stack() {
  static thread_local void* addresses[16384];
  const int count = ::backtrace(addresses, 16384);
  std::string line = "stack " + std::to_string(::syscall(SYS_gettid));
  for (int i = 1; i < count; ++i) {  // this function is left out
    char text[32];
    std::snprintf(text, sizeof text, " %lx", reinterpret_cast<unsigned long>(addresses[i]));
    line += text;
  }
  std::puts(line.c_str());
  std::fflush(stdout);
}

void ready() {
  std::printf("ready %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
}

[[gnu::noinline]] void block() {
  print_stack();
  ready();
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) != 0) {
  }
  std::exit(0);
}

[[gnu::noinline]] void block_on_condition() {
  print_stack();
  ::pthread_mutex_lock(&mutex);
  ++waiting;
  while (true) {
    ::pthread_cond_wait(&never, &mutex);
  }
}

// A thread that gets the mutex while `waiting` has this value knows that all have begun to wait, so
// no other futex call can be mistaken for the tested one.
void wait_for_threads(unsigned count) {
  ::pthread_mutex_lock(&mutex);
  while (waiting < count) {
    ::pthread_mutex_unlock(&mutex);
    ::usleep(1000);
    ::pthread_mutex_lock(&mutex);
  }
  ::pthread_mutex_unlock(&mutex);
}

void on_signal(int) {
  block();
}

// The array and the work after each call keep the frames from being optimised away.
[[gnu::noinline]] int inner(const std::string& mode) {
  volatile char space[200] = {};
  if (mode == "signal" || mode == "altstack") {
    std::raise(SIGUSR1);
  } else if (mode == "threads") {
    block_on_condition();
  } else {
    block();
  }
  return space[sink] + 1;
}

[[gnu::noinline]] int middle(const std::string& mode, int depth) {
  if (depth > 0) {
    return middle(mode, depth - 1) + sink;
  }
  return inner(mode) + 1;
}

[[gnu::noinline]] int outer(const std::string& mode) {
  return middle(mode, mode == "recursion" ? 10000 : 0) + 1;
}

void* thread(void*) {
  sink = outer("threads");
  return nullptr;
}

void handle_signal(bool own_stack) {
  static char stack[1 << 20];
  stack_t where{};
  where.ss_sp = stack;
  where.ss_size = sizeof stack;
  if (own_stack) {
    ::sigaltstack(&where, nullptr);
  }
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = own_stack ? SA_ONSTACK : 0;
  ::sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace work

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "read";
  if (mode == "threads") {
    constexpr unsigned kThreads = 8;
    for (unsigned i = 0; i < kThreads; ++i) {
      pthread_t thread{};
      ::pthread_create(&thread, nullptr, work::thread, nullptr);
    }
    work::wait_for_threads(kThreads);
    work::ready();
    while (true) {
      ::pause();
    }
  }
  work::handle_signal(mode == "altstack");
  return work::outer(mode);
}
