#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "unwind/call_site.h"
#include "unwind/frame_search.h"

namespace oddrank::unwind {
namespace {

constexpr std::uint64_t kInstruction = 4;
constexpr std::uint64_t kPointerBytes = 8;

template <std::size_t kCount>
std::optional<std::array<std::uint32_t, kCount>> code_at(std::uint64_t address,
                                                         UnwindMemory& memory) {
  std::array<std::uint32_t, kCount> code{};
  if (!memory.read(address, std::as_writable_bytes(std::span(code)))) {
    return std::nullopt;
  }
  return code;
}

// Returns the number in some bits of an instruction, with its sign.
std::int64_t signed_bits(std::uint32_t word, unsigned lowest, unsigned count) {
  const auto shifted = static_cast<std::uint64_t>(word) << (64 - lowest - count);
  return static_cast<std::int64_t>(shifted) >> (64 - count);
}

bool is_adrp_x16(std::uint32_t word) {
  return (word & 0x9f00001f) == 0x90000010;
}

// Returns the address that `adrp` at `at` computes: of a page of 4 KiB, whatever the kernel's are.
std::uint64_t page_of(std::uint32_t word, std::uint64_t at) {
  constexpr std::uint64_t kPageMask = 0xfff;
  const std::int64_t pages = signed_bits(word, 5, 19) * 4 + (word >> 29 & 3U);
  return (at & ~kPageMask) + static_cast<std::uint64_t>(pages * 4096);
}

// The linker's stubs are "adrp x16; ldr x17, [x16, #offset]; add x16; br x17", with "bti c" before
// them if landings are enforced. If `address` is not a stub, it is the target itself.
std::uint64_t behind_stub(std::uint64_t address, UnwindMemory& memory) {
  constexpr std::uint32_t kBtiC = 0xd503245f;
  const auto code = code_at<3>(address, memory);
  if (!code) {
    return address;
  }
  const std::size_t first = (*code)[0] == kBtiC ? 1 : 0;
  const std::uint32_t load = (*code)[first + 1];
  if (!is_adrp_x16((*code)[first]) || (load & 0xffc003ff) != 0xf9400211) {
    return address;
  }
  const std::uint64_t page = page_of((*code)[first], address + first * kInstruction);
  return memory.word(page + (load >> 10 & 0xfffU) * kPointerBytes).value_or(address);
}

bool is_call_through_register(std::uint32_t word) {
  const bool plain = (word & 0xfffffc1f) == 0xd63f0000;          // blr
  const bool authenticated = (word & 0xfefff800) == 0xd63f0800;  // blraa, blraaz, ...
  return plain || authenticated;
}

// "mov w8, #number" or "mov x8, #number", and "svc #0".
bool makes_call(std::array<std::uint32_t, 2> code, std::uint32_t number) {
  return (code[0] & 0x7fffffff) == (0x52800008 | number << 5) && code[1] == 0xd4000001;
}

bool is_jump(std::uint32_t word) {
  return (word & 0xfc000000) == 0x14000000;  // b
}

std::uint64_t jump_target(std::uint32_t word, std::uint64_t at) {
  return at + static_cast<std::uint64_t>(signed_bits(word, 0, 26) * 4);
}

}  // namespace

CallSite call_before(std::uint64_t return_address, UnwindMemory& memory) {
  const auto code = code_at<1>(return_address - kInstruction, memory);
  if (return_address % kInstruction != 0 || !code) {
    return {};
  }
  const std::uint32_t word = code->front();
  if ((word & 0xfc000000) == 0x94000000) {  // bl
    const std::int64_t distance = signed_bits(word, 0, 26) * 4;
    return {
        CallKind::kDirect,
        behind_stub(return_address - kInstruction + static_cast<std::uint64_t>(distance), memory)};
  }
  return {is_call_through_register(word) ? CallKind::kIndirect : CallKind::kNone, 0};
}

std::optional<std::uint64_t> jump_between(const elf::ElfRange& from,
                                          const elf::ElfRange& into,
                                          UnwindMemory& memory) {
  std::vector<std::uint32_t> code(from.size / kInstruction);
  if (!memory.read(from.address, std::as_writable_bytes(std::span(code)))) {
    return std::nullopt;
  }
  for (std::size_t at = 0; at < code.size(); ++at) {
    const std::uint64_t target = jump_target(code[at], from.address + at * kInstruction);
    if (is_jump(code[at]) && target - into.address < into.size) {
      return target;
    }
  }
  return std::nullopt;
}

bool returns_from_signal(std::uint64_t address, UnwindMemory& memory) {
  const auto code = code_at<2>(address, memory);
  return code && makes_call(*code, 139);
}

bool ends_thread(std::uint64_t address, UnwindMemory& memory) {
  const auto code = code_at<4>(address, memory);  // the result may be moved first
  return code &&
         (makes_call({(*code)[0], (*code)[1]}, 93) || makes_call({(*code)[1], (*code)[2]}, 93) ||
          makes_call({(*code)[2], (*code)[3]}, 93));
}

// A frame's record is two words anywhere in it: the caller's frame pointer, which leads to the
// caller's record, and the return address. Compilers put it at the lower end (gcc) or find the
// frame by it (clang): so the caller's record is taken for the caller's stack pointer.
std::optional<FrameCandidate> candidate_at(std::uint64_t at,
                                           std::uint64_t return_address,
                                           UnwindMemory& memory) {
  const std::uint64_t record = at - kPointerBytes;
  const auto callers = memory.word(record);
  if (!callers || *callers <= at || *callers - at >= kMaxFrameSize ||
      *callers % kPointerBytes != 0) {
    return std::nullopt;
  }
  FrameCandidate candidate;
  candidate.return_address = return_address;
  candidate.frame_end = *callers;
  candidate.end_is_guess = true;
  candidate.frame_pointer = record;
  candidate.callers_pointer = *callers;
  return candidate;
}

}  // namespace oddrank::unwind
