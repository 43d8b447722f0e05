// A static program without unwind information, which sleeps three functions deep. Without the C
// library, since that brings its own tables.
namespace {

struct Time {
  long seconds;
  long nanoseconds;
};

__attribute__((noinline)) long sleep_long(long seconds) {
  const Time time{seconds, 0};
  long result = 0;
  register long rest __asm__("r10") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(230L), "D"(1L), "S"(0L), "d"(&time), "r"(rest)  // clock_nanosleep
                   : "rcx", "r11", "memory");
  return result + time.seconds;
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

extern "C" __attribute__((naked, used)) void _start() {
  __asm__ volatile(
      "and $-16, %rsp\n"
      "mov $3600, %edi\n"
      "call outer\n"
      "mov $60, %eax\n"
      "syscall\n");
}
