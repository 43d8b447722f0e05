#include "attach/restarted_call.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/machine.h"

namespace oddrank::attach {
namespace {

// No process maps the first pages.
constexpr std::uint64_t kMinPointer = 0x10000;
// Clocks are small numbers, or negative ones for the clocks of processes and threads.
constexpr std::uint64_t kMaxClock = 16;

bool is_pointer(std::uint64_t value) {
  return value >= kMinPointer && value < std::uint64_t{1} << 57U;
}

// Returns whether a call with these arguments can be the one of this number.
bool fits(std::int64_t number, const SyscallState& call) {
  const auto& arguments = call.arguments;
  switch (number) {
    case SYS_clock_nanosleep:
      return arguments[0] < kMaxClock && is_pointer(arguments[2]);
    case SYS_nanosleep:
      return is_pointer(arguments[0]);
    case SYS_futex:
      return is_pointer(arguments[0]) && is_pointer(arguments[3]);
    case kSysPoll:
      return is_pointer(arguments[0]) || arguments[1] == 0;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::int64_t> restarted_call(std::span<const std::byte> code,
                                           const SyscallState& call) {
  const std::vector<std::int64_t> numbers = loaded_numbers(code);
  const auto loaded = std::find_if(numbers.begin(), numbers.end(),
                                   [&call](std::int64_t number) { return fits(number, call); });
  if (loaded != numbers.end()) {
    return *loaded;
  }
  // syscall(2) takes the number from another register. Only a sleep's arguments differ from those
  // of other calls.
  return fits(SYS_clock_nanosleep, call) ? std::optional<std::int64_t>(SYS_clock_nanosleep)
                                         : std::nullopt;
}

void name_restarted_call(const Target& target, ThreadState& thread) {
  if (!thread.syscall || thread.syscall->number != SYS_restart_syscall || !thread.registers ||
      thread.registers->pc < kRestartedCodeBytes) {
    return;
  }
  std::array<std::byte, kRestartedCodeBytes> code{};
  if (target.read(Addr{thread.registers->pc - kRestartedCodeBytes}, code)) {
    thread.syscall->number = restarted_call(code, *thread.syscall).value_or(thread.syscall->number);
  }
}

}  // namespace oddrank::attach
