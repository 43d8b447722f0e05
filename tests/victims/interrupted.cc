// A process that notices when one of its calls was interrupted: `interrupted`. Each of its threads,
// named after the call, is blocked in a call that fails with EINTR, or returns early, if the thread
// is stopped; one more, "runs", runs. Prints
//   ready SEMAPHORES
// the id of its System V semaphores, which the process that kills it must remove. For each line on
// stdin it prints how often each call returned:
//   record epoll 0 recv 0 sigtimedwait 0 semop 0 nanosleep 0 runs COUNT
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iterator>

namespace {

constexpr timespec kHour{3600, 0};
int semaphores = -1;

void epoll() {
  const int fd = ::epoll_create1(0);
  epoll_event event{};
  (void)::epoll_wait(fd, &event, 1, -1);
}

void receive() {
  int ends[2] = {-1, -1};
  (void)::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  const timeval limit{3600, 0};
  (void)::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char byte = 0;
  (void)::recv(ends[0], &byte, 1, 0);
}

void await_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  (void)::sigtimedwait(&signals, nullptr, &kHour);
}

void decrement() {
  sembuf operation{};
  operation.sem_op = -1;
  (void)::semop(semaphores, &operation, 1);
}

void sleep_long() {
  timespec left = kHour;
  (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left);
}

void run() {
  static volatile int sink = 0;
  for (int i = 0; i < 1000; ++i) {
    sink = sink + 1;
  }
}

struct Call {
  const char* name;
  void (*make)();
  std::atomic<long> returns;
};
Call calls[] = {
    {"epoll", epoll, {0}},     {"recv", receive, {0}},         {"sigtimedwait", await_signal, {0}},
    {"semop", decrement, {0}}, {"nanosleep", sleep_long, {0}}, {"runs", run, {0}}};

pthread_barrier_t named;

void* repeat(void* argument) {
  auto& call = *static_cast<Call*>(argument);
  ::prctl(PR_SET_NAME, call.name);
  ::pthread_barrier_wait(&named);
  while (true) {
    call.make();
    ++call.returns;
  }
}

}  // namespace

int main() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  semaphores = ::semget(IPC_PRIVATE, 1, 0600);
  ::pthread_barrier_init(&named, nullptr, std::size(calls) + 1);
  for (Call& call : calls) {
    pthread_t ignored{};
    ::pthread_create(&ignored, nullptr, repeat, &call);
  }
  ::pthread_barrier_wait(&named);
  std::printf("ready %d\n", semaphores);
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) == 1) {
    std::printf("record");
    for (const Call& call : calls) {
      std::printf(" %s %ld", call.name, call.returns.load());
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
