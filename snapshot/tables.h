// The tables of a capture: each string, frame and stack once. Everything else refers to them by id.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "snapshot/frame.h"
#include "snapshot/intern_table.h"

namespace oddrank::snapshot {

struct StringHash {
  std::size_t operator()(std::string_view text) const;
};
struct FrameHash {
  std::size_t operator()(const Frame& frame) const;
};
struct StackHash {
  std::size_t operator()(const Stack& stack) const;
};

// Compiled only in tables.cc: it takes a second.
extern template class InternTable<std::string, std::string_view, StringId, StringHash>;
extern template class InternTable<Frame, Frame, FrameId, FrameHash>;
extern template class InternTable<Stack, Stack, StackId, StackHash>;

// Move-only. Ids are valid only for these tables; snapshot/merge.h translates them for others.
class Tables {
 public:
  Tables();
  Tables(Tables&&) noexcept;
  Tables& operator=(Tables&&) noexcept;
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  ~Tables();

  StringId string(std::string_view text) { return strings_.intern(text); }
  FrameId frame(const Frame& frame) { return frames_.intern(frame); }
  StackId stack(const Stack& stack) { return stacks_.intern(stack); }

  // Makes room for that many rows.
  void reserve(std::size_t strings, std::size_t frames, std::size_t stacks);

  std::string_view text(StringId id) const { return strings_[id]; }
  const Frame& frame(FrameId id) const { return frames_[id]; }
  // Compares functions, not lines or addresses: a loop moves within them.
  bool same_functions(std::span<const FrameId> one, std::span<const FrameId> other) const;
  const Stack& stack(StackId id) const { return stacks_[id]; }

  const auto& strings() const { return strings_; }
  const auto& frames() const { return frames_; }
  const auto& stacks() const { return stacks_; }

 private:
  InternTable<std::string, std::string_view, StringId, StringHash> strings_;
  InternTable<Frame, Frame, FrameId, FrameHash> frames_;
  InternTable<Stack, Stack, StackId, StackHash> stacks_;
};

}  // namespace oddrank::snapshot
