// The kernel does not keep the number of a system call apart (struct user_pt_regs): x8 has it, as
// the program set it. Before a debugger or a core file sees the registers, the kernel has undone a
// call that it will make again: the program counter is at the `svc` instruction, and x0 is the
// argument once more (arch/arm64/kernel/signal.c, do_signal).
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "attach/restarted_call.h"
#include "attach/user_registers.h"

namespace oddrank::attach {
namespace {

constexpr std::uint32_t kSvc = 0xd4000001;  // svc #0
constexpr std::uint64_t kSvcBytes = 4;
constexpr std::size_t kCallRegister = 8;
constexpr std::size_t kFirstKept = 19;
constexpr std::size_t kFramePointer = 29;
constexpr std::size_t kLink = 30;

// NT_ARM_PAC_MASK: the bits of a signature in pointers to data, and in those to code.
struct SignatureMasks {
  std::uint64_t data = 0;
  std::uint64_t code = 0;
};

template <typename T>
bool get_register_set(pid_t tid, int set, T& into) {
  iovec where{&into, sizeof into};
  return ::ptrace(PTRACE_GETREGSET, tid, set, &where) == 0 && where.iov_len == sizeof into;
}

}  // namespace

std::optional<StoppedRegisters> read_registers(pid_t tid) {
  user_regs_struct all{};
  if (!get_register_set(tid, NT_PRSTATUS, all)) {
    return std::nullopt;
  }
  StoppedRegisters stopped = registers_of(all);
  std::uint64_t thread_pointer = 0;
  // Since Linux 6.3 the set may have a second register; the kernel then fills what there is room
  // for.
  if (get_register_set(tid, NT_ARM_TLS, thread_pointer)) {
    stopped.registers.thread_pointer = thread_pointer;
  }
  SignatureMasks masks;
  if (get_register_set(tid, NT_ARM_PAC_MASK, masks)) {
    stopped.registers.signature_mask = masks.code;
  }
  return stopped;
}

StoppedRegisters registers_of(const user_regs_struct& from) {
  StoppedRegisters stopped;
  Registers& registers = stopped.registers;
  registers.pc = from.pc;
  registers.sp = from.sp;
  registers.frame_pointer = from.regs[kFramePointer];
  registers.link = from.regs[kLink];
  std::copy_n(std::begin(from.regs) + kFirstKept, registers.kept.size(), registers.kept.begin());
  registers.all = true;
  stopped.call.number = static_cast<std::int64_t>(from.regs[kCallRegister]);
  std::copy_n(std::begin(from.regs), stopped.call.arguments.size(), stopped.call.arguments.begin());
  stopped.call.result = static_cast<std::int64_t>(from.regs[0]);
  return stopped;
}

void add_register_note(std::uint32_t type, std::span<const std::byte> body, Registers& into) {
  if (type == NT_ARM_TLS && body.size() >= sizeof into.thread_pointer) {
    std::memcpy(&into.thread_pointer, body.data(), sizeof into.thread_pointer);
  } else if (type == NT_ARM_PAC_MASK && body.size() >= sizeof(SignatureMasks)) {
    SignatureMasks masks;
    std::memcpy(&masks, body.data(), sizeof masks);
    into.signature_mask = masks.code;
  }
}

// A thread that was about to make its first call looks the same, and is as good as in it.
std::optional<SyscallState> settle_call(StoppedRegisters& stopped,
                                        const ReadCode& code,
                                        bool died) {
  std::uint64_t& pc = stopped.registers.pc;
  const LastCall& call = stopped.call;
  if (code(pc) == kSvc) {
    pc += kSvcBytes;
  } else if (!died || call.result != -EINTR || code(pc - kSvcBytes) != kSvc) {
    return std::nullopt;
  }
  return SyscallState{call.number, call.arguments};
}

std::vector<std::int64_t> loaded_numbers(std::span<const std::byte> code) {
  constexpr std::uint32_t kLoad = 0x52800008;     // mov w8, #number
  constexpr std::uint32_t kIgnored = 0x801fffe0;  // or x8; the number
  constexpr std::uint32_t kNumberShift = 5;
  constexpr std::uint32_t kNumberBits = 0xffff;
  std::vector<std::uint32_t> words(code.size() / sizeof(std::uint32_t));
  const auto whole = code.last(words.size() * sizeof(std::uint32_t));
  std::memcpy(words.data(), whole.data(), whole.size());
  std::vector<std::int64_t> numbers;
  if (words.empty() || words.back() != kSvc) {
    return numbers;
  }
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if ((*word & ~kIgnored) == kLoad) {
      numbers.push_back(*word >> kNumberShift & kNumberBits);
    }
  }
  return numbers;
}

}  // namespace oddrank::attach
