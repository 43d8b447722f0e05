#include "unwind/known_walk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "unwind/unwind_memory.h"

namespace oddrank::unwind {
namespace {

// Words that are as near as this are read as one piece.
constexpr std::uint64_t kGap = 256;
constexpr std::size_t kMaxPieces = 64;

}  // namespace

std::optional<KnownWalk> KnownWalk::of(const NativeStack& stack,
                                       std::uint64_t stack_pointer,
                                       std::uint64_t stack_end,
                                       std::vector<Word> words) {
  std::sort(words.begin(), words.end(),
            [](const Word& a, const Word& b) { return a.address < b.address; });
  KnownWalk walk;
  walk.stack_ = stack;
  walk.stack_pointer_ = stack_pointer;
  for (const Word& word : words) {
    const std::uint64_t offset = word.address - stack_pointer;
    if (walk.pieces_.empty() ||
        offset > walk.pieces_.back().offset + walk.pieces_.back().size + kGap) {
      if (walk.pieces_.size() == kMaxPieces) {
        return std::nullopt;
      }
      walk.pieces_.push_back({offset, 0});
    }
    Piece& piece = walk.pieces_.back();
    const std::size_t within = offset - piece.offset;
    walk.bytes_ -= piece.size;
    const std::size_t at = walk.bytes_ + within;
    piece.size = std::max(piece.size, within + kWord);
    walk.bytes_ += piece.size;
    const bool moves = word.value >= stack_pointer && word.value < stack_end;
    walk.words_.push_back({at, moves ? word.value - stack_pointer : word.value, moves});
  }
  return walk;
}

std::optional<NativeStack> KnownWalk::of_thread(std::uint64_t stack_pointer,
                                                std::span<const std::byte> bytes) const {
  if (bytes.size() < bytes_) {
    return std::nullopt;
  }
  for (const Decisive& word : words_) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + word.at, kWord);
    if (value != (word.moves ? word.value + stack_pointer : word.value)) {
      return std::nullopt;
    }
  }
  NativeStack stack = stack_;
  for (NativeFrame& frame : stack.frames) {
    frame.cfa = frame.cfa == 0 ? 0 : frame.cfa - stack_pointer_ + stack_pointer;
  }
  return stack;
}

}  // namespace oddrank::unwind
