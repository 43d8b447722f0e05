// Stacks as people want to see them, and as ranks are compared: without the inner works of the
// interpreter and of libraries (frame_patterns.h), innermost frame first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aggregate/view/frame_patterns.h"
#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

// One frame for a screen. All text is printable.
struct ShownFrame {
  snapshot::FrameKind kind = snapshot::FrameKind::kNative;
  snapshot::FrameId id{};
  std::string name;  // short; "module+0x1f" where there is no symbol
  std::string file;  // Python: the tail of the path that tells most; native: base name of module
  std::uint32_t line = 0;
  bool system_call = false;  // libc's end of the stack: shown, but no part of the key
  bool user = false;         // Python, and neither the standard library nor an installed package
  bool inlined = false;      // native, without a call of its own
  // Native, where DWARF was asked for: "torch/Work.cpp:66". For people only: nodes without debug
  // information do not have it, so it is part of no comparison.
  std::string source;

  // "train.py:88", or the module. What comparisons know of where the frame is.
  std::string place() const;
  // The same with the source of native frames: what a screen shows.
  std::string shown_place() const;
};

struct FoldedStack {
  std::vector<ShownFrame> frames;
  std::size_t hidden = 0;  // frames that were read and are not in `frames`
  // Equal for threads that stand at the same place; "" where no stack was read.
  std::string key;
};

struct StoryHit {
  const StoryPattern* pattern = nullptr;
  snapshot::FrameId frame{};
};

// Remembers what it has folded; borrows the tables, which must not lose rows meanwhile.
class FrameModel {
 public:
  explicit FrameModel(const snapshot::Tables& tables) : tables_(tables) {}

  // Without inlined frames: they are there or not as debug information is.
  const FoldedStack& fold(const snapshot::ThreadSample& sample);
  // The same, each frame with those that were inlined into it.
  FoldedStack fold_with_inlined(const snapshot::ThreadSample& sample);
  // All frames as they were read: native and Python, in call order; on a mismatch the native ones
  // first.
  std::vector<snapshot::FrameId> all_frames(const snapshot::ThreadSample& sample) const;
  // How many of them stand before the first frame of the stack that locals are counted in: the
  // native ones where native and Python frames do not fit.
  std::size_t frames_before_locals(const snapshot::ThreadSample& sample) const;
  ShownFrame shown(snapshot::FrameId id);
  // The innermost frame that tells this story.
  std::optional<StoryHit> story(const snapshot::ThreadSample& sample, Story story);
  // The pool whose thread this is, if it has nothing to do: no frame but the pool's own and those
  // of a wait. A worker that is blocked inside of its work is not idle.
  std::optional<StoryHit> idle_pool(const snapshot::ThreadSample& sample);
  // The innermost Python frame of the user's program, else the innermost Python frame at all.
  std::optional<ShownFrame> user_frame(const snapshot::ThreadSample& sample);

  const snapshot::Tables& tables() const { return tables_; }

 private:
  struct Known {
    ShownFrame shown;
    FrameRole role = FrameRole::kPlain;
    bool unknown = false;  // native, of no module that the patterns name, and without a symbol
  };
  const Known& known(snapshot::FrameId id);
  std::optional<StoryHit> find_story(const snapshot::ThreadSample& sample, Story story);
  bool is_told_by(snapshot::FrameId id, const StoryPattern& pattern);
  bool rests(snapshot::FrameId id, std::string_view pool);
  FoldedStack fold_frames(const std::vector<snapshot::FrameId>& frames);
  bool is_inlined(snapshot::FrameId id) const;
  std::vector<snapshot::FrameId> called_frames(const snapshot::ThreadSample& sample) const;

  const snapshot::Tables& tables_;
  std::unordered_map<std::uint32_t, Known> known_;
  std::map<std::pair<snapshot::StackId, snapshot::StackId>, FoldedStack> folded_;
  std::map<std::tuple<snapshot::StackId, snapshot::StackId, Story>, std::optional<StoryHit>>
      stories_;
};

// "/x/site-packages/torch/a/b.py" -> "torch/a/b.py"; "/home/u/demo/train.py" -> "demo/train.py".
std::string short_file(std::string_view path);
std::string_view base_name(std::string_view path);

}  // namespace oddrank::aggregate
