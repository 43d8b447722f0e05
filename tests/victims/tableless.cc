// A static program without unwind information, which sleeps three functions deep. Without the C
// library, since that brings its own tables.
#include "tests/victims/machine/code.h"

namespace {

struct Time {
  long seconds;
  long nanoseconds;
};

__attribute__((noinline)) long sleep_long(long seconds) {
  const Time time{seconds, 0};
  return sleep_by_call(&time) + time.seconds;
}

__attribute__((noinline)) long middle(long seconds) {
  volatile char room[64];
  room[0] = 1;
  return sleep_long(seconds) + room[0];
}

}  // namespace

extern "C" __attribute__((noinline, used)) long outer(long seconds) {
  volatile long slept = middle(seconds);
  return slept * 2;
}

// A function of its own in the symbol table, since naked ones do not exist everywhere.
asm(".text\n"
    ".globl _start\n"
    ".type _start, %function\n"
    "_start:\n" VICTIM_START ".size _start, . - _start\n");
