#include "snapshot/tables.h"

#include <algorithm>
#include <functional>

namespace oddrank::snapshot {

std::size_t StringHash::operator()(std::string_view text) const {
  return std::hash<std::string_view>{}(text);
}

std::size_t FrameHash::operator()(const Frame& frame) const {
  std::size_t hash = static_cast<std::size_t>(frame.kind);
  hash = hash_mix(hash, frame.flags);
  hash = hash_mix(hash, static_cast<std::uint64_t>(frame.function));
  hash = hash_mix(hash, static_cast<std::uint64_t>(frame.file));
  hash = hash_mix(hash, static_cast<std::uint64_t>(frame.build_id));
  hash = hash_mix(hash, frame.line);
  hash = hash_mix(hash, frame.offset);
  return hash_mix(hash, static_cast<std::uint64_t>(frame.source));
}

std::size_t StackHash::operator()(const Stack& stack) const {
  std::size_t hash = static_cast<std::size_t>(stack.end);
  hash = hash_mix(hash, static_cast<std::uint64_t>(stack.merge));
  for (const FrameId frame : stack.frames) {
    hash = hash_mix(hash, static_cast<std::uint64_t>(frame));
  }
  return hash;
}

template class InternTable<std::string, std::string_view, StringId, StringHash>;
template class InternTable<Frame, Frame, FrameId, FrameHash>;
template class InternTable<Stack, Stack, StackId, StackHash>;

Tables::Tables() {
  strings_.intern("");
  stacks_.intern(Stack{});
}
Tables::Tables(Tables&&) noexcept = default;
Tables& Tables::operator=(Tables&&) noexcept = default;
Tables::~Tables() = default;

bool Tables::same_functions(std::span<const FrameId> one, std::span<const FrameId> other) const {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [this](FrameId a, FrameId b) {
                      const Frame& frame = frames_[a];
                      const Frame& same = frames_[b];
                      return frame.kind == same.kind && frame.function == same.function &&
                             frame.file == same.file;
                    });
}

void Tables::reserve(std::size_t strings, std::size_t frames, std::size_t stacks) {
  strings_.reserve(strings);
  frames_.reserve(frames);
  stacks_.reserve(stacks);
}

}  // namespace oddrank::snapshot
