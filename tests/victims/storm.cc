// A process that changes while it is read: `storm MODE [ROUND]`. First prints "ready", then "round
// N" now and then. Modes:
//   threads  starts threads, lets them run, and joins them, without a pause
//   exec     runs for a moment, with a second thread, and calls exec on itself
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

volatile long sink = 0;

void work(long amount) {
  for (long i = 0; i < amount; ++i) {
    sink = sink + 1;
  }
}

void* run(void* amount) {
  work(*static_cast<const long*>(amount));
  return nullptr;
}

void say_round(long round, long every) {
  if (round == 0) {
    std::puts("ready");
  }
  if (round % every == 0) {
    std::printf("round %ld\n", round);
    std::fflush(stdout);
  }
}

void start_and_join() {
  static long amount = 20'000;
  pthread_t threads[8];
  for (pthread_t& thread : threads) {
    if (::pthread_create(&thread, nullptr, run, &amount) != 0) {
      std::exit(2);
    }
  }
  for (const pthread_t& thread : threads) {
    ::pthread_join(thread, nullptr);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "threads";
  long round = count > 2 ? std::atol(arguments[2]) : 0;
  if (mode == "exec") {
    say_round(round, 20);
    static long for_ever = 1L << 60;
    pthread_t ignored{};
    ::pthread_create(&ignored, nullptr, run, &for_ever);
    work(2'000'000);
    const std::string next = std::to_string(round + 1);
    ::execl("/proc/self/exe", arguments[0], "exec", next.c_str(), nullptr);
    return 2;
  }
  while (true) {
    say_round(round, 100);
    start_and_join();
    ++round;
  }
}
