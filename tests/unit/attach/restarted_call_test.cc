#include "attach/restarted_call.h"

#include <sys/syscall.h>

#include <string>
#include <vector>

#include "base/machine.h"
#include "tests/support/catch.h"
#include "tests/support/machine_code.h"

namespace oddrank::attach {
namespace {

// Returns as many bytes as are read before a thread's program counter, with these at their end.
std::vector<std::byte> code_before(const std::string& last) {
  std::string code;
  while (code.size() + last.size() < kRestartedCodeBytes) {
    code += test::other_code();
  }
  code = code.substr(code.size() + last.size() - kRestartedCodeBytes) + last;
  const auto bytes = std::as_bytes(std::span(code));
  return {bytes.begin(), bytes.end()};
}

// Returns code that loads these numbers, and makes a call.
std::vector<std::byte> loads(std::initializer_list<long> numbers) {
  std::string code;
  for (const long number : numbers) {
    code += test::load_number_code(static_cast<std::uint32_t>(number));
  }
  return code_before(code + test::other_code() + test::system_call_code());
}

constexpr std::uint64_t kPlace = 0x7ffd12340000;

}  // namespace

TEST_CASE("a call that was begun again has the number that its code loads", "[attach]") {
  const SyscallState futex{SYS_restart_syscall, {kPlace, 0x189, 0, kPlace}};
  CHECK(restarted_call(loads({SYS_futex}), futex) == SYS_futex);
  const SyscallState sleep{SYS_restart_syscall, {kPlace, kPlace}};
  CHECK(restarted_call(loads({SYS_nanosleep}), sleep) == SYS_nanosleep);
  // The nearest load counts, if it is one of a call that is begun again.
  CHECK(restarted_call(loads({SYS_nanosleep, SYS_futex}), futex) == SYS_futex);
  CHECK(restarted_call(loads({SYS_futex, SYS_nanosleep}), futex) == SYS_nanosleep);
  CHECK(restarted_call(loads({SYS_futex, SYS_getpid}), futex) == SYS_futex);
}

TEST_CASE("poll() is begun again where it is a call of its own", "[attach]") {
  const SyscallState poll{SYS_restart_syscall, {kPlace, 1, 1000}};
  if (kSysPoll != kNoSuchCall) {
    CHECK(restarted_call(loads({kSysPoll}), poll) == kSysPoll);
    CHECK(restarted_call(loads({SYS_futex, kSysPoll}), poll) == kSysPoll);
  }
}

TEST_CASE("without a number in the code, only a sleep is told by its arguments", "[attach]") {
  const auto by_register = code_before(test::other_code() + test::system_call_code());
  const SyscallState sleep{SYS_restart_syscall, {1, 0, kPlace, kPlace}};
  CHECK(restarted_call(by_register, sleep) == SYS_clock_nanosleep);
  CHECK(restarted_call({}, sleep) == SYS_clock_nanosleep);
  const SyscallState other{SYS_restart_syscall, {kPlace, 1, 1000}};
  CHECK_FALSE(restarted_call(by_register, other));
  // A load that does not fit the arguments is another instruction's tail.
  CHECK_FALSE(restarted_call(loads({SYS_clock_nanosleep}), other));
}

}  // namespace oddrank::attach
