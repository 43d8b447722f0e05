#include <elf.h>
#include <sys/user.h>

#include <cstring>

#include "tests/support/machine/core_registers.h"

namespace oddrank::test {

std::uint16_t sample_machine() {
  return EM_AARCH64;
}

// x0 is the first argument, and the result once there is one. A call that will be made again has
// been undone: its result, from -ERESTARTSYS on, is not seen.
std::int64_t shown_result(const SampleThread& thread) {
  constexpr std::int64_t kRestartSys = -512;
  constexpr std::int64_t kFirstArgument = 7;
  return thread.result == 0 || thread.result <= kRestartSys ? kFirstArgument : thread.result;
}

void fill_registers(const SampleThread& thread, elf_prstatus& status) {
  user_regs_struct registers{};
  registers.pc = thread.pc;
  registers.sp = thread.sp;
  registers.regs[8] = static_cast<unsigned long long>(thread.call);
  registers.regs[0] = static_cast<unsigned long long>(shown_result(thread));
  registers.regs[3] = 10;
  static_assert(sizeof registers == sizeof status.pr_reg);
  std::memcpy(&status.pr_reg, &registers, sizeof registers);
}

std::string machine_note(const SampleThread& thread) {
  return make_note(
      "LINUX", NT_ARM_TLS,
      {reinterpret_cast<const char*>(&thread.thread_pointer), sizeof thread.thread_pointer});
}

}  // namespace oddrank::test
