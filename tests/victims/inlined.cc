// A process that is stuck in a function that calls others which have no frames of their own: the
// compiler put them into it. The main thread prints "ready PID" and reads stdin.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace work {

volatile int sink = 0;

[[gnu::noinline]] void block() {
  std::printf("ready %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) != 0) {
  }
  std::exit(0);
}

struct Queue {
  [[gnu::always_inline]] int take(int timeout) {
    block();  // take
    return timeout + sink;
  }
};

[[gnu::always_inline]] inline int wait_for_batch(int step) {
  Queue queue;
  return queue.take(step) + 1;  // wait_for_batch
}

[[gnu::noinline]] int train(int step) {
  return wait_for_batch(step) + sink;  // train
}

}  // namespace work

int main(int count, char** /*arguments*/) {
  return work::train(count) + 1;
}
