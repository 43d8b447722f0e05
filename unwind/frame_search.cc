#include "unwind/frame_search.h"

#include <algorithm>

#include "unwind/call_site.h"

namespace oddrank::unwind {

namespace {

// Larger frames exist, but not where threads wait.
constexpr std::uint64_t kMaxReach = 8192;
constexpr std::size_t kMaxCandidates = 16;

// Functions do not overlap: if another called function begins between a called one and the code,
// the call leads elsewhere.
void leave_nearest(std::vector<FrameCandidate>& candidates) {
  std::uint64_t nearest = 0;
  for (const FrameCandidate& one : candidates) {
    nearest = std::max(nearest, one.called);
  }
  for (FrameCandidate& one : candidates) {
    if (one.proven() && one.called < nearest) {
      one.called = 0;
      one.elsewhere = true;
    }
  }
}

// `called`: the start of the code that a direct call of that address leads to; 0: elsewhere.
// `before`: a further criterion for their order, besides the distance.
template <typename Called, typename Before>
std::vector<FrameCandidate> search(const attach::MemoryMap& maps,
                                   UnwindMemory& memory,
                                   std::uint64_t stack_pointer,
                                   std::uint64_t signature,
                                   Called called,
                                   Before before) {
  std::vector<FrameCandidate> candidates;
  const std::uint64_t first = (stack_pointer + kWord - 1) & ~(kWord - 1);
  for (std::uint64_t at = first; at - first < kMaxReach; at += kWord) {
    const auto word = memory.word(at);
    if (!word) {
      break;
    }
    const std::uint64_t return_address = *word & ~signature;
    const attach::Mapping* mapping = maps.find(attach::Addr{return_address});
    if (mapping == nullptr || !mapping->executable) {
      continue;
    }
    const CallSite call = call_before(return_address, memory);
    const bool to_kernel = returns_from_signal(return_address, memory);
    if (call.kind == CallKind::kNone && !to_kernel) {
      continue;
    }
    if (auto candidate = candidate_at(at, return_address, memory)) {
      const bool direct = call.kind == CallKind::kDirect && !to_kernel;
      candidate->called = direct ? called(call.target) : 0;
      candidate->elsewhere = direct && !candidate->proven();
      candidate->to_kernel = to_kernel;
      candidates.push_back(*candidate);
    }
  }
  leave_nearest(candidates);
  std::stable_sort(candidates.begin(), candidates.end(), before);
  candidates.resize(std::min(candidates.size(), kMaxCandidates));
  return candidates;
}

bool proven_before(const FrameCandidate& a, const FrameCandidate& b) {
  return a.proven() > b.proven();
}

bool proven_before_others_behind(const FrameCandidate& a, const FrameCandidate& b) {
  return a.proven() != b.proven() ? a.proven() : a.elsewhere < b.elsewhere;
}

bool others_behind(const FrameCandidate& a, const FrameCandidate& b) {
  return a.elsewhere < b.elsewhere;
}

}  // namespace

std::vector<FrameCandidate> find_frames(const attach::MemoryMap& maps,
                                        UnwindMemory& memory,
                                        std::uint64_t stack_pointer,
                                        std::uint64_t signature,
                                        std::uint64_t function_start) {
  return search(
      maps, memory, stack_pointer, signature,
      [function_start](std::uint64_t target) { return target == function_start ? target : 0; },
      proven_before);
}

std::vector<FrameCandidate> find_callers(const attach::MemoryMap& maps,
                                         UnwindMemory& memory,
                                         std::uint64_t stack_pointer,
                                         std::uint64_t signature,
                                         std::uint64_t pc,
                                         CodeRanges& code) {
  const bool symbols_near = code.around(pc).kind != CodeAround::Kind::kMapping;
  return search(
      maps, memory, stack_pointer, signature,
      [&code, pc](std::uint64_t target) { return code.called_start(target, pc); },
      symbols_near ? proven_before_others_behind : others_behind);
}

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
