#include "attach/restarted_call.h"

#include <sys/syscall.h>

#include <initializer_list>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::attach {
namespace {

std::vector<std::byte> code(std::initializer_list<int> bytes) {
  std::vector<std::byte> result(kRestartedCodeBytes - bytes.size(), std::byte{0x90});
  for (const int byte : bytes) {
    result.push_back(static_cast<std::byte>(byte));
  }
  return result;
}

constexpr std::uint64_t kPlace = 0x7ffd12340000;

}  // namespace

TEST_CASE("a call that was begun again has the number that its code loads", "[attach]") {
  // mov $7, %eax; syscall
  const SyscallState poll{SYS_restart_syscall, {kPlace, 1, 1000}};
  CHECK(restarted_call(code({0xb8, 7, 0, 0, 0, 0x0f, 0x05}), poll) == SYS_poll);
  // mov $202, %eax; mov %rdx, %r10; syscall
  const SyscallState futex{SYS_restart_syscall, {kPlace, 0x189, 0, kPlace}};
  CHECK(restarted_call(code({0xb8, 0xca, 0, 0, 0, 0x49, 0x89, 0xd2, 0x0f, 0x05}), futex) ==
        SYS_futex);
  // The nearest load counts, if it is one of a call that is begun again.
  CHECK(restarted_call(code({0xb8, 0xca, 0, 0, 0, 0xb8, 7, 0, 0, 0, 0x0f, 0x05}), poll) ==
        SYS_poll);
  CHECK(restarted_call(code({0xb8, 7, 0, 0, 0, 0xb8, 1, 0, 0, 0, 0x0f, 0x05}), poll) == SYS_poll);
}

TEST_CASE("without a number in the code, only a sleep is told by its arguments", "[attach]") {
  const SyscallState sleep{SYS_restart_syscall, {1, 0, kPlace, kPlace}};
  CHECK(restarted_call(code({0x48, 0x89, 0xf8, 0x0f, 0x05}), sleep) == SYS_clock_nanosleep);
  CHECK(restarted_call({}, sleep) == SYS_clock_nanosleep);
  const SyscallState other{SYS_restart_syscall, {kPlace, 1, 1000}};
  CHECK_FALSE(restarted_call(code({0x48, 0x89, 0xf8, 0x0f, 0x05}), other));
  // A load that does not fit the arguments is another instruction's tail.
  CHECK_FALSE(restarted_call(code({0xb8, 0xe6, 0, 0, 0, 0x0f, 0x05}), other));
}

}  // namespace oddrank::attach
