#include <elf.h>
#include <sys/user.h>

#include <cstring>

#include "tests/support/machine/core_registers.h"

namespace oddrank::test {

std::uint16_t sample_machine() {
  return EM_X86_64;
}

void fill_registers(const SampleThread& thread, elf_prstatus& status) {
  user_regs_struct registers{};
  registers.rip = thread.pc;
  registers.rsp = thread.sp;
  registers.fs_base = thread.thread_pointer;
  registers.orig_rax = static_cast<unsigned long long>(thread.call);
  registers.rax = static_cast<unsigned long long>(thread.result);
  registers.rdi = 7;
  registers.r10 = 10;
  static_assert(sizeof registers == sizeof status.pr_reg);
  std::memcpy(&status.pr_reg, &registers, sizeof registers);
}

std::int64_t shown_result(const SampleThread& thread) {
  return thread.result;
}

std::string machine_note(const SampleThread&) {
  return make_note("LINUX", NT_X86_XSTATE, std::string(64, 'x'));
}

}  // namespace oddrank::test
