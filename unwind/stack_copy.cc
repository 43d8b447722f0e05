#include "unwind/stack_copy.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace oddrank::unwind {
namespace {

using attach::Addr;
using attach::Mapping;
using attach::ThreadState;

constexpr std::uint64_t kRedZone =
    128;  // System V ABI of x86-64: leaf functions use it without moving sp
constexpr std::uint64_t kMaxStack = std::uint64_t{1} << 20;
// Copying this much takes less than 1 ms, during which all threads wait.
constexpr std::uint64_t kMaxTotal = std::uint64_t{2} << 20;
// For a stack whose mapping is unknown (its thread began after the maps were read), and for every
// stack if there are very many.
constexpr std::uint64_t kMinStack = std::uint64_t{16} << 10;

// Returns the thread's own stack, if the stack pointer is on another one. glibc puts the block that
// the thread pointer points at on top of the stack of each thread but the main one, whose stack has
// a name.
const Mapping* own_stack(const attach::Target& target,
                         const ThreadState& thread,
                         const Mapping* current) {
  if (current == nullptr || thread.registers->thread_pointer == 0) {
    return nullptr;
  }
  const Mapping* own = target.maps().find(Addr{thread.registers->thread_pointer});
  if (thread.tid == target.pid()) {
    const auto& all = target.maps().listed();
    const auto main = std::find_if(
        all.begin(), all.end(), [](const Mapping& mapping) { return mapping.path == "[stack]"; });
    own = main == all.end() ? nullptr : &*main;
  }
  return own == current ? nullptr : own;
}

// Returns where the interrupted function left its own stack: the kernel saved that stack pointer on
// the alternate stack. Heuristic: takes the lowest word there that points into the own stack; a
// stale one only makes the copy larger.
std::optional<std::uint64_t> left_at(const CopiedMemory& alternate, const Mapping& own) {
  std::optional<std::uint64_t> lowest;
  const std::size_t skew = (8 - alternate.address % 8) % 8;
  for (std::size_t at = skew; at + 8 <= alternate.bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, alternate.bytes.data() + at, sizeof word);
    if (word >= own.start && word < own.end && (!lowest || word < *lowest)) {
      lowest = word;
    }
  }
  return lowest;
}

}  // namespace

StackCopier::StackCopier(std::size_t threads)
    : most_(std::clamp(kMaxTotal / std::max<std::size_t>(threads, 1), kMinStack, kMaxStack)),
      buffers_(threads) {
  for (auto& buffer : buffers_) {
    buffer.resize(most_);  // writes zeros, so that each page is there
  }
}

StackCopier::Range StackCopier::from_stack_pointer(std::size_t thread,
                                                   std::uint64_t stack_pointer,
                                                   const Mapping* mapping) const {
  std::uint64_t start = stack_pointer - std::min(stack_pointer, kRedZone);
  if (mapping == nullptr) {
    return {thread, start, kMinStack};
  }
  start = std::max(start, mapping->start);
  return {thread, start, std::min(mapping->end - start, most_)};
}

std::vector<std::byte> StackCopier::take_buffer(std::uint64_t size) {
  std::vector<std::byte> buffer;
  if (!buffers_.empty()) {
    buffer = std::move(buffers_.back());
    buffers_.pop_back();
  }
  buffer.resize(size);
  return buffer;
}

void StackCopier::read_ranges(const attach::Target& target,
                              const std::vector<Range>& ranges,
                              std::vector<StackCopy>& copies) {
  std::vector<CopiedMemory> read(ranges.size());
  std::vector<attach::ReadRequest> requests(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    read[i].address = ranges[i].start;
    read[i].bytes = take_buffer(ranges[i].size);
    requests[i].address = Addr{ranges[i].start};
    requests[i].into = read[i].bytes;
  }
  target.read_many(requests);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    read[i].bytes.resize(requests[i].got);
    if (requests[i].got != 0) {
      copies[ranges[i].thread].push_back(std::move(read[i]));
    }
  }
}

std::vector<StackCopy> StackCopier::copy(const attach::Target& target,
                                         std::span<const ThreadState* const> threads) {
  std::vector<StackCopy> copies(threads.size());
  if (threads.empty()) {
    return copies;
  }
  std::vector<Range> ranges;
  std::vector<const Mapping*> mappings;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const std::uint64_t stack_pointer = threads[i]->registers->sp;
    mappings.push_back(target.maps().find(Addr{stack_pointer}));
    ranges.push_back(from_stack_pointer(i, stack_pointer, mappings.back()));
  }
  read_ranges(target, ranges, copies);
  ranges.clear();
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const Mapping* own = own_stack(target, *threads[i], mappings[i]);
    if (own == nullptr || copies[i].empty()) {
      continue;
    }
    if (const auto left = left_at(copies[i].front(), *own)) {
      ranges.push_back(from_stack_pointer(i, *left, own));
    }
  }
  read_ranges(target, ranges, copies);
  return copies;
}

}  // namespace oddrank::unwind
