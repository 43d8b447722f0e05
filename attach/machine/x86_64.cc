#include <sys/ptrace.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "attach/restarted_call.h"
#include "attach/user_registers.h"

namespace oddrank::attach {
namespace {

// The internal numbers ERESTARTSYS (512) to ERESTART_RESTARTBLOCK (516) of include/linux/errno.h,
// which no program ever sees.
bool is_restart_code(std::int64_t result) {
  constexpr std::int64_t kMinRestart = -516;
  constexpr std::int64_t kMaxRestart = -512;
  return result >= kMinRestart && result <= kMaxRestart;
}

}  // namespace

std::optional<StoppedRegisters> read_registers(pid_t tid) {
  user_regs_struct all{};
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &all) != 0) {
    return std::nullopt;
  }
  return registers_of(all);
}

StoppedRegisters registers_of(const user_regs_struct& from) {
  StoppedRegisters stopped;
  Registers& registers = stopped.registers;
  registers.pc = from.rip;
  registers.sp = from.rsp;
  registers.frame_pointer = from.rbp;
  registers.kept = {from.rbx, from.r12, from.r13, from.r14, from.r15};
  registers.thread_pointer = from.fs_base;
  registers.all = true;
  stopped.call.number = static_cast<std::int64_t>(from.orig_rax);
  stopped.call.arguments = {from.rdi, from.rsi, from.rdx, from.r10, from.r8, from.r9};
  stopped.call.result = static_cast<std::int64_t>(from.rax);
  return stopped;
}

void add_register_note(std::uint32_t /*type*/,
                       std::span<const std::byte> /*body*/,
                       Registers& /*into*/) {}

std::optional<SyscallState> settle_call(StoppedRegisters& stopped,
                                        const ReadCode& /*code*/,
                                        bool died) {
  const LastCall& call = stopped.call;
  const bool in_call =
      call.number >= 0 && (is_restart_code(call.result) || (died && call.result == -EINTR));
  return in_call ? std::optional(SyscallState{call.number, call.arguments}) : std::nullopt;
}

std::vector<std::int64_t> loaded_numbers(std::span<const std::byte> code) {
  constexpr std::array<std::byte, 2> kSyscall = {std::byte{0x0f}, std::byte{0x05}};
  constexpr std::byte kLoadEax{0xb8};  // mov $number, %eax
  constexpr std::size_t kLoadBytes = 5;
  std::vector<std::int64_t> numbers;
  if (code.size() < kSyscall.size() || !std::ranges::equal(kSyscall, code.last(kSyscall.size()))) {
    return numbers;
  }
  for (std::size_t at = code.size() - kSyscall.size(); at-- > 0;) {
    if (code[at] == kLoadEax && code.size() - at >= kLoadBytes + kSyscall.size()) {
      std::int32_t number = 0;
      std::memcpy(&number, &code[at + 1], sizeof(number));
      numbers.push_back(number);
    }
  }
  return numbers;
}

}  // namespace oddrank::attach
