#include "unwind/frame_search.h"

#include <algorithm>

#include "unwind/call_site.h"

namespace oddrank::unwind {
namespace {

// Larger frames exist, but not where threads wait.
constexpr std::uint64_t kMaxReach = 8192;
constexpr std::size_t kMaxCandidates = 16;

// The start of the called code lies before `pc` in the same mapping.
constexpr std::uint64_t kMaxFunction = std::uint64_t{64} << 10;

// `is_proof`: whether a direct call to that address proves the candidate.
template <typename IsProof>
std::vector<FrameCandidate> search(const attach::MemoryMap& maps,
                                   UnwindMemory& memory,
                                   std::uint64_t stack_pointer,
                                   std::uint64_t signature,
                                   IsProof is_proof) {
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
    if (call.kind == CallKind::kNone) {
      continue;
    }
    if (auto candidate = candidate_at(at, return_address, memory)) {
      candidate->proven = call.kind == CallKind::kDirect && is_proof(call.target);
      candidates.push_back(*candidate);
    }
  }
  std::stable_partition(candidates.begin(), candidates.end(),
                        [](const FrameCandidate& one) { return one.proven; });
  candidates.resize(std::min(candidates.size(), kMaxCandidates));
  return candidates;
}

}  // namespace

std::vector<FrameCandidate> find_frames(const attach::MemoryMap& maps,
                                        UnwindMemory& memory,
                                        std::uint64_t stack_pointer,
                                        std::uint64_t signature,
                                        std::uint64_t function_start) {
  return search(maps, memory, stack_pointer, signature,
                [function_start](std::uint64_t target) { return target == function_start; });
}

std::vector<FrameCandidate> find_callers(const attach::MemoryMap& maps,
                                         UnwindMemory& memory,
                                         std::uint64_t stack_pointer,
                                         std::uint64_t signature,
                                         std::uint64_t pc) {
  const attach::Mapping* code = maps.find(attach::Addr{pc});
  return search(maps, memory, stack_pointer, signature, [pc, code](std::uint64_t target) {
    return code != nullptr && target >= code->start && target <= pc && pc - target < kMaxFunction;
  });
}

}  // namespace oddrank::unwind
