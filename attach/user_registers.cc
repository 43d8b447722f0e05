#include "attach/user_registers.h"

namespace oddrank::attach {

Registers registers_of(const user_regs_struct& from) {
  Registers registers;
  registers.pc = from.rip;
  registers.sp = from.rsp;
  registers.rbp = from.rbp;
  registers.rbx = from.rbx;
  registers.r12 = from.r12;
  registers.r13 = from.r13;
  registers.r14 = from.r14;
  registers.r15 = from.r15;
  registers.fs_base = from.fs_base;
  registers.all = true;
  return registers;
}

std::array<std::uint64_t, 6> syscall_arguments(const user_regs_struct& from) {
  return {from.rdi, from.rsi, from.rdx, from.r10, from.r8, from.r9};
}

bool is_restarted(std::int64_t result) {
  constexpr std::int64_t kMinRestart = -516;
  constexpr std::int64_t kMaxRestart = -512;
  return result >= kMinRestart && result <= kMaxRestart;
}

}  // namespace oddrank::attach
