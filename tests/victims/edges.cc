// A process that is stuck below code without unwind tables: `edges MODE`. Its main thread prints
// "ready PID" and reads stdin. The calls are main, outer, inner, the code in question, block.
//   no_cfi    a function in assembler without call frame information
//   jit       code made at run time that keeps a frame pointer
//   jit_bare  code made at run time that keeps none
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/victims/machine/code.h"

using Callee = void (*)();
using Caller = void (*)(Callee);

extern "C" void no_cfi(Callee callee);
asm(".text\n"
    ".globl no_cfi\n"
    ".type no_cfi, %function\n"
    "no_cfi:\n" VICTIM_NO_CFI ".size no_cfi, . - no_cfi\n");

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

Caller make_code(bool with_frame_pointer) {
  void* const code =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) {
    std::exit(1);
  }
  if (with_frame_pointer) {
    std::memcpy(code, kCodeWithFramePointer, sizeof kCodeWithFramePointer);
  } else {
    std::memcpy(code, kCodeWithoutFramePointer, sizeof kCodeWithoutFramePointer);
  }
  __builtin___clear_cache(static_cast<char*>(code), static_cast<char*>(code) + 4096);
  return reinterpret_cast<Caller>(code);
}

[[gnu::noinline]] int inner(Caller caller) {
  volatile char space[200] = {};
  caller(block);
  return space[sink] + 1;
}

[[gnu::noinline]] int outer(Caller caller) {
  return inner(caller) + sink;
}

}  // namespace work

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "no_cfi";
  return work::outer(mode == "no_cfi" ? no_cfi : work::make_code(mode == "jit"));
}
