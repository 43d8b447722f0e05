#include <string_view>

#include "tests/support/machine_code.h"

namespace oddrank::test {
namespace {

constexpr std::string_view kEndbr64("\xf3\x0f\x1e\xfa", 4);

std::string number_bytes(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    bytes += static_cast<char>(value >> (8 * i));
  }
  return bytes;
}

}  // namespace

std::string call_code(std::uint64_t at, std::uint64_t target) {
  constexpr std::uint64_t kCallBytes = 5;
  return '\xe8' + number_bytes(target - at - kCallBytes);
}

std::vector<std::string> indirect_calls() {
  return {"\xff\xd0", std::string("\xff\x90\x10\x00\x00\x00", 6)};  // *%rax, *16(%rax)
}

std::string jump_code() {
  return {"\xff\x25\x10\x00\x00\x00", 6};  // jmp *16(%rip)
}

std::string jump_code(std::uint64_t at, std::uint64_t target) {
  constexpr std::uint64_t kJumpBytes = 5;
  return '\xe9' + number_bytes(target - at - kJumpBytes);
}

std::string signal_return_code() {
  return "\x48\xc7\xc0" + number_bytes(15) + system_call_code();  // mov $15, %rax
}

std::string stub_code(std::uint64_t at, std::uint64_t slot, bool guarded) {
  const std::string jump = guarded ? std::string(kEndbr64) + "\xf2\xff\x25" : "\xff\x25";
  return jump + number_bytes(slot - at - jump.size() - 4);
}

std::string getter_code(std::uint32_t offset) {
  return "\x48\x8b\x87" + number_bytes(offset) + '\xc3';
}

std::string landing_code() {
  return std::string(kEndbr64);
}

std::string empty_code() {
  return "\xc3";
}

std::string zero_code() {
  return "\x31\xc0\xc3";
}

std::vector<std::string> almost_getters() {
  return {"\x48\x8b\x47\xf8\xc3", std::string("\x8b\x87\xc8\x01\x00\x00\xc3", 7),
          std::string("\x48\x8b\x86\xc8\x01\x00\x00\xc3", 8)};
}

std::string system_call_code() {
  return "\x0f\x05";
}

std::string load_number_code(std::uint32_t number) {
  return '\xb8' + number_bytes(number);  // mov $number, %eax
}

std::string other_code() {
  return "\x49\x89\xd2";  // mov %rdx, %r10
}

// Its own address is its first and its third word.
std::vector<MemoryWords> thread_descriptor(std::uint64_t address) {
  return {{address, {address, 0, address}}};
}

SavedReturn saved_return() {
  return {0, 0};
}

}  // namespace oddrank::test
