#include "unwind/code_ranges.h"

#include <algorithm>

#include "unwind/call_site.h"

namespace oddrank::unwind {
namespace {

// Larger functions are not searched for jumps. If a function has no symbol, only its first
// instructions are searched: many such functions only pass arguments on.
constexpr std::uint64_t kMaxSearched = 4096;
constexpr std::uint64_t kShim = 16;
// A function without a symbol is smaller.
constexpr std::uint64_t kMaxUnnamed = std::uint64_t{64} << 10;
// The instructions in assembler at a program's entry point, before functions of C begin.
constexpr std::uint64_t kMaxEntryCode = 32;

}  // namespace

const CodeAround& CodeRanges::around(std::uint64_t address) {
  const auto known = known_.find(address);
  return known != known_.end() ? known->second
                               : known_.emplace(address, look(address)).first->second;
}

CodeAround CodeRanges::look(std::uint64_t address) {
  CodeAround found;
  if (const attach::Mapping* mapping = target_.maps().find(attach::Addr{address})) {
    found.start = mapping->start;
    found.end = mapping->end;
  }
  found.module = modules_.find(address);
  if (found.module == nullptr) {
    return found;
  }
  const auto image = modules_.image_of(*found.module);
  const auto bias = modules_.load_bias(*found.module);
  if (!image || !bias) {
    return found;
  }
  const elf::CodeRange range = (*image)->code_around(address - *bias);
  if (range.start != 0) {
    found.kind = range.is_function ? CodeAround::Kind::kFunction : CodeAround::Kind::kRoom;
    found.start = *bias + range.start;
    found.end = range.end == UINT64_MAX ? found.end : *bias + range.end;
  }
  const std::uint64_t entry = (*image)->entry();
  found.begins_program = entry != 0 && address - *bias - entry < kMaxEntryCode;
  return found;
}

std::uint64_t CodeRanges::called_start(std::uint64_t target, std::uint64_t pc) {
  const CodeAround own = around(pc);
  elf::ElfRange starts{own.start, 1};
  if (own.kind != CodeAround::Kind::kFunction) {
    starts.address = std::max(own.start, pc - std::min(pc, kMaxUnnamed));
    starts.size = pc - starts.address + 1;
  }
  const std::uint64_t direct = target - starts.address < starts.size ? target : 0;
  if (direct == own.start || modules_.find(target) != own.module) {
    return direct;
  }
  const CodeAround& called = around(target);
  const bool whole = called.kind == CodeAround::Kind::kFunction && called.start == target &&
                     own.kind == CodeAround::Kind::kFunction && called.end - target <= kMaxSearched;
  const elf::ElfRange code{target, whole ? called.end - target : kShim};
  return std::max(direct, jump_between(code, starts, memory_).value_or(0));
}

}  // namespace oddrank::unwind
