#include "cpython/chain_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kLooks = 4;
constexpr std::size_t kMaxCheckedFrames = 128;  // all looks at these fit into one system call

// The bytes of a frame that identify its call and its place in the code.
struct KeyBytes {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

std::uint32_t instruction_size(const Layout& layout) {
  return layout.semantics.instruction == InstructionFormat::kPointer ? sizeof(std::uint64_t)
                                                                     : sizeof(std::int32_t);
}

KeyBytes key_bytes(const Layout& layout) {
  const FrameOffsets& offsets = layout.frame;
  const std::uint32_t pointer = kPointerSize;
  const bool tells = offsets.executing != kAbsent;
  const std::uint32_t executing = tells ? offsets.executing : offsets.code;
  return {std::min({offsets.previous, offsets.code, offsets.instruction, executing}),
          std::max({offsets.previous + pointer, offsets.code + pointer,
                    offsets.instruction + instruction_size(layout), executing + 1})};
}

// All looks at one thread.
class Looks {
 public:
  Looks(const Layout& layout, const ThreadStateRow& row, std::span<const RawFrame> frames);

  bool agree(const attach::Target& target);

 private:
  // Requests one look at the words that lead to the newest frame.
  void request_head();
  void request_frame(std::size_t index);
  void request(Addr address, std::size_t size);
  template <typename T>
  T value(std::size_t at, std::uint32_t offset) const;
  bool is_as_read(std::size_t at, std::size_t index) const;

  const Layout& layout_;
  const ThreadStateRow& row_;
  std::span<const RawFrame> frames_;
  KeyBytes key_;
  std::vector<std::byte> bytes_;
  std::vector<attach::ReadRequest> requests_;
  // Where the bytes of each look at a frame are, and which frame it is.
  std::vector<std::pair<std::size_t, std::size_t>> places_;
  std::vector<std::pair<std::size_t, Addr>> heads_;  // where a pointer is, and what it should be
};

Looks::Looks(const Layout& layout, const ThreadStateRow& row, std::span<const RawFrame> frames)
    : layout_(layout),
      row_(row),
      frames_(frames.first(std::min(frames.size(), kMaxCheckedFrames))),
      key_(key_bytes(layout)) {
  const std::size_t size = key_.end - key_.begin;
  bytes_.reserve(kLooks * (2 * kPointerSize + frames_.size() * size));  // requests point into it
  for (std::size_t look = 0; look < kLooks; ++look) {
    const bool outwards = look % 2 == 0;
    if (outwards) {
      request_head();
    }
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      request_frame(outwards ? i : frames_.size() - 1 - i);
    }
    if (!outwards) {
      request_head();
    }
  }
}

void Looks::request(Addr address, std::size_t size) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + size);
  requests_.push_back({address, std::span(bytes_).subspan(at, size)});
}

void Looks::request_head() {
  const ThreadOffsets& offsets = layout_.thread;
  Addr holder = row_.address;
  if (offsets.cframe != kAbsent) {
    heads_.emplace_back(bytes_.size(), row_.native_anchor);
    request(row_.address + offsets.cframe, kPointerSize);
    holder = row_.native_anchor;
  }
  heads_.emplace_back(bytes_.size(), row_.newest_frame);
  request(holder + offsets.frame, kPointerSize);
}

void Looks::request_frame(std::size_t index) {
  if (frames_[index].address == Addr{}) {  // a placeholder
    return;
  }
  places_.emplace_back(bytes_.size(), index);
  request(frames_[index].address + key_.begin, key_.end - key_.begin);
}

template <typename T>
T Looks::value(std::size_t at, std::uint32_t offset) const {
  T value{};
  std::memcpy(&value, bytes_.data() + at + (offset - key_.begin), sizeof(T));
  return value;
}

bool Looks::is_as_read(std::size_t at, std::size_t index) const {
  const FrameOffsets& offsets = layout_.frame;
  const RawFrame& frame = frames_[index];
  const std::uint64_t instruction =
      instruction_size(layout_) == sizeof(std::uint64_t)
          ? value<std::uint64_t>(at, offsets.instruction)
          : static_cast<std::uint64_t>(std::int64_t{value<std::int32_t>(at, offsets.instruction)});
  return Addr{value<std::uint64_t>(at, offsets.previous)} == frame.previous &&
         without_tags(layout_, Addr{value<std::uint64_t>(at, offsets.code)}) == frame.code &&
         (index == 0 || instruction == frame.instruction) &&
         (offsets.executing == kAbsent ||
          value<std::int8_t>(at, offsets.executing) == layout_.semantics.executing);
}

bool Looks::agree(const attach::Target& target) {
  target.read_many(requests_);
  return attach::all_whole(requests_) &&
         std::all_of(heads_.begin(), heads_.end(),
                     [this](const auto& head) {
                       Addr found{};
                       std::memcpy(&found, bytes_.data() + head.first, sizeof(found));
                       return found == head.second;
                     }) &&
         std::all_of(places_.begin(), places_.end(),
                     [this](const auto& place) { return is_as_read(place.first, place.second); });
}

}  // namespace

bool stands_still(const attach::Target& target,
                  const Layout& layout,
                  const ThreadStateRow& row,
                  std::span<const RawFrame> frames) {
  return Looks(layout, row, frames).agree(target);
}

}  // namespace oddrank::cpython
