// A process that notices if one of its signals is lost: `signals [storm]`. Its main thread runs;
// every 200 us a timer sends it SIGALRM, and a second thread sends it a real-time signal with a
// number, which the kernel queues and never merges with another; in a storm, as many as the kernel
// takes. Prints "ready". When a line arrives on stdin, it sends no more signals, and when all have
// arrived, or 5 s later, it prints
//   record SENT ARRIVED OUT_OF_ORDER ALARMS
#include <poll.h>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>

namespace {

std::atomic<long> sent{0};
std::atomic<long> arrived{0};
std::atomic<long> out_of_order{0};
std::atomic<long> alarms{0};
pthread_t runner{};
bool storm = false;

void on_alarm(int) {
  ++alarms;
}

void on_number(int, siginfo_t* info, void*) {
  if (info->si_value.sival_int != ++arrived) {
    ++out_of_order;
  }
}

void nap() {
  const timespec length{0, 200'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr);
}

bool line_came() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

void* send_numbers(void*) {
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
  std::printf("ready\n");
  std::fflush(stdout);
  while (!line_came()) {
    sigval number{};
    number.sival_int = static_cast<int>(sent + 1);
    if (::pthread_sigqueue(runner, SIGRTMIN, number) == 0) {
      ++sent;
    } else {
      nap();  // the queue is full
    }
    if (!storm) {
      nap();
    }
  }
  for (int i = 0; i < 25000 && arrived < sent; ++i) {
    nap();
  }
  std::printf("record %ld %ld %ld %ld\n", sent.load(), arrived.load(), out_of_order.load(),
              alarms.load());
  std::fflush(stdout);
  ::_exit(0);
}

}  // namespace

int main(int count, char**) {
  storm = count > 1;
  runner = ::pthread_self();
  struct sigaction action {};
  action.sa_handler = on_alarm;
  ::sigaction(SIGALRM, &action, nullptr);
  action.sa_sigaction = on_number;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGRTMIN, &action, nullptr);
  const itimerval every{{0, 200}, {0, 200}};
  ::setitimer(ITIMER_REAL, &every, nullptr);
  pthread_t ignored{};
  ::pthread_create(&ignored, nullptr, send_numbers, nullptr);
  volatile long work = 0;
  while (true) {
    work = work + 1;
  }
}
