#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "unwind/call_site.h"
#include "unwind/frame_search.h"

namespace oddrank::unwind {
namespace {

template <std::size_t kSize>
std::optional<std::array<std::uint8_t, kSize>> bytes_at(std::uint64_t address,
                                                        UnwindMemory& memory) {
  std::array<std::uint8_t, kSize> bytes{};
  if (!memory.read(address, std::as_writable_bytes(std::span(bytes)))) {
    return std::nullopt;
  }
  return bytes;
}

std::uint64_t relative(std::uint64_t from, const std::uint8_t* distance) {
  std::int32_t value = 0;
  std::memcpy(&value, distance, sizeof value);
  return from + static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

// The linker's stubs are "jmp *slot(%rip)" (FF 25 rel32), with "endbr64" and "bnd" before it if
// control flow is enforced. If `address` is not a stub, it is the target itself.
std::uint64_t behind_stub(std::uint64_t address, UnwindMemory& memory) {
  const auto code = bytes_at<12>(address, memory);
  if (!code) {
    return address;
  }
  std::size_t at = 0;
  const std::array<std::uint8_t, 4> endbr64 = {0xf3, 0x0f, 0x1e, 0xfa};
  if (std::memcmp(code->data(), endbr64.data(), endbr64.size()) == 0) {
    at += endbr64.size();
  }
  at += (*code)[at] == 0xf2 ? 1U : 0U;
  if ((*code)[at] != 0xff || (*code)[at + 1] != 0x25) {
    return address;
  }
  return memory.word(relative(address + at + 6, code->data() + at + 2)).value_or(address);
}

}  // namespace

CallSite call_before(std::uint64_t return_address, UnwindMemory& memory) {
  const auto before = bytes_at<7>(return_address - 7, memory);
  if (!before) {
    return {};
  }
  if ((*before)[2] == 0xe8) {  // call rel32
    return {CallKind::kDirect, behind_stub(relative(return_address, before->data() + 3), memory)};
  }
  for (std::size_t at = 0; at + 1 < before->size(); ++at) {
    // FF /2, whose operand fills the bytes up to the return address.
    if ((*before)[at] == 0xff && ((*before)[at + 1] & 0x38U) == 0x10) {
      return {CallKind::kIndirect, 0};
    }
  }
  return {};
}

// jmp rel32 is e9, conditional jumps are 0f 80 to 0f 8f.
std::optional<std::uint64_t> jump_between(const elf::ElfRange& from,
                                          const elf::ElfRange& into,
                                          UnwindMemory& memory) {
  std::vector<std::uint8_t> code(from.size);
  if (!memory.read(from.address, std::as_writable_bytes(std::span(code)))) {
    return std::nullopt;
  }
  for (std::size_t at = 1; at + 4 <= code.size(); ++at) {
    const bool jump =
        code[at - 1] == 0xe9 || (at > 1 && code[at - 2] == 0x0f && (code[at - 1] & 0xf0U) == 0x80);
    const std::uint64_t target = relative(from.address + at + 4, code.data() + at);
    if (jump && target - into.address < into.size) {
      return target;
    }
  }
  return std::nullopt;
}

bool returns_from_signal(std::uint64_t address, UnwindMemory& memory) {
  constexpr std::array<std::uint8_t, 9> kSigreturn = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  const auto code = bytes_at<kSigreturn.size()>(address, memory);  // mov $15, %rax; syscall
  return code == kSigreturn;
}

// "mov $60, %al" or "mov $60, %eax" and "syscall", after the result was moved.
bool ends_thread(std::uint64_t address, UnwindMemory& memory) {
  constexpr std::array<std::uint8_t, 4> kShort = {0xb0, 60, 0x0f, 0x05};
  constexpr std::array<std::uint8_t, 7> kLong = {0xb8, 60, 0, 0, 0, 0x0f, 0x05};
  const auto code = bytes_at<16>(address, memory);
  const auto has = [&code](const auto& part) {
    return std::search(code->begin(), code->end(), part.begin(), part.end()) != code->end();
  };
  return code && (has(kShort) || has(kLong));
}

// The return address is the frame's last word; the frame pointer, if the code keeps one, is saved
// below it. Most code that has no table keeps one.
std::optional<FrameCandidate> candidate_at(std::uint64_t at,
                                           std::uint64_t return_address,
                                           UnwindMemory& memory) {
  FrameCandidate candidate;
  candidate.return_address = return_address;
  candidate.frame_end = at + kWord;
  candidate.frame_pointer = at - kWord;
  const auto saved = memory.word(at - kWord);
  if (saved && *saved > candidate.frame_end && *saved - candidate.frame_end < kMaxFrameSize) {
    candidate.callers_pointer = *saved;
  }
  return candidate;
}

}  // namespace oddrank::unwind
