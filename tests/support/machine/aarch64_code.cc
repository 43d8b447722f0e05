#include <initializer_list>

#include "tests/support/machine_code.h"

namespace oddrank::test {
namespace {

constexpr std::uint32_t kBtiC = 0xd503245f;
constexpr std::uint32_t kRet = 0xd65f03c0;

std::string instructions(std::initializer_list<std::uint32_t> words) {
  std::string bytes;
  for (const std::uint32_t word : words) {
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return bytes;
}

}  // namespace

std::string call_code(std::uint64_t at, std::uint64_t target) {
  constexpr std::uint32_t kBl = 0x94000000;
  return instructions({kBl | (static_cast<std::uint32_t>((target - at) / 4) & 0x03ffffffU)});
}

std::vector<std::string> indirect_calls() {
  return {instructions({0xd63f0020}), instructions({0xd73f0822})};  // blr x1; blraa x1, x2
}

std::string jump_code() {
  return instructions({0xd61f0200});  // br x16
}

std::string jump_code(std::uint64_t at, std::uint64_t target) {
  constexpr std::uint32_t kB = 0x14000000;
  return instructions({kB | (static_cast<std::uint32_t>((target - at) / 4) & 0x03ffffffU)});
}

std::string signal_return_code() {
  return instructions({0xd2801168}) + system_call_code();  // mov x8, #139
}

std::string stub_code(std::uint64_t /*at*/, std::uint64_t slot, bool guarded) {
  constexpr std::uint64_t kPageMask = 0xfff;
  const auto scaled = static_cast<std::uint32_t>((slot & kPageMask) / 8);
  // adrp x16, 0; ldr x17, [x16, #slot]; add x16, x16, #0; br x17
  const std::string stub =
      instructions({0x90000010, 0xf9400211 | scaled << 10, 0x91000210, 0xd61f0220});
  return guarded ? instructions({kBtiC}) + stub : stub;
}

std::string getter_code(std::uint32_t offset) {
  return instructions({0xf9400000 | (offset / 8) << 10, kRet});  // ldr x0, [x0, #offset]
}

std::string landing_code() {
  return instructions({kBtiC});
}

std::string empty_code() {
  return instructions({kRet});
}

std::string zero_code() {
  return instructions({0x52800000, kRet});  // mov w0, #0
}

// ldur x0, [x0, #-8]; ldr w0, [x0, #456]; ldr x0, [x1, #456]
std::vector<std::string> almost_getters() {
  return {instructions({0xf85f8000, kRet}), instructions({0xb941c800, kRet}),
          instructions({0xf940e420, kRet})};
}

std::string system_call_code() {
  return instructions({0xd4000001});
}

std::string load_number_code(std::uint32_t number) {
  return instructions({0x52800008 | number << 5});  // mov w8, #number
}

std::string other_code() {
  return instructions({0xaa0203e3});  // mov x3, x2
}

// It is in a list, in which the neighbours point back to it.
std::vector<MemoryWords> thread_descriptor(std::uint64_t address) {
  constexpr std::uint64_t kList = 192;
  const std::uint64_t own = address + kList;
  const std::uint64_t head = address + 0x800;
  return {{own, {head, head}}, {head, {own, own}}};
}

// Its first instruction makes its frame, with the frame pointer and the return address at its end.
SavedReturn saved_return() {
  return {4, 1};
}

}  // namespace oddrank::test
