// Stacks as people want to see them, and as ranks are compared: without the internals of the
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

#include "aggregate/frames/frame_patterns.h"
#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

// One frame for a screen. All text is printable.
struct ShownFrame {
  snapshot::FrameKind kind = snapshot::FrameKind::kNative;
  snapshot::FrameId id{};
  std::string name;  // short; "module+0x1f" if there is no symbol
  std::string file;  // Python: the most telling end of the path; native: base name of the module
  std::uint32_t line = 0;
  bool system_call = false;  // libc's frames at the inner end: shown, but not part of the key
  bool user = false;         // Python code outside of the standard library and installed packages
  bool inlined = false;      // native, without a call of its own
  bool signal = false;       // native: here the kernel called a handler
  bool heuristic = false;    // native: guessed from a word on the stack
  // Native, if DWARF was asked for: "torch/Work.cpp:66". Only for display: nodes without debug
  // information lack it, so no comparison uses it.
  std::string source;

  // Returns "train.py:88", or the module: the frame's place as comparisons use it.
  std::string place() const;
  // Returns the same with the source of native frames, as a screen shows it; "(guessed)" for a
  // heuristic one.
  std::string shown_place() const;
};

struct FoldedStack {
  std::vector<ShownFrame> frames;
  std::size_t hidden = 0;  // frames that were read and are not in `frames`
  // Equal for threads at the same place; "" if no stack was read.
  std::string key;
};

// How much of a stack can be compared with another one of the same thread.
enum class Reach : std::uint8_t {
  kNothing = 0,  // its frames may be from two instants
  kPython,       // it ran: native frames are missing, or from another instant than Python's
  kWhole,
};

struct StoryHit {
  const FramePattern* pattern = nullptr;
  snapshot::FrameId frame{};
};

// Returns the thread's last sample; null if it has none.
inline const snapshot::ThreadSample* last_sample(const snapshot::ThreadCapture& thread) {
  return thread.samples.empty() ? nullptr : &thread.samples.back();
}

// Folds stacks, and caches the results. Borrows the tables, which must not lose rows meanwhile. A
// null sample has no frames.
class FrameModel {
 public:
  explicit FrameModel(const snapshot::Tables& tables) : tables_(tables) {}

  // Folds without inlined frames: whether these are there depends on debug information.
  const FoldedStack& fold(const snapshot::ThreadSample& sample);
  // Folds the same, each frame with those that were inlined into it.
  FoldedStack fold_with_inlined(const snapshot::ThreadSample& sample);
  // Returns where the thread was, by the frames that `reach` covers; "" if none of these was read.
  // Two samples are compared by the smaller of their reaches: native frames that only one of them
  // has are no motion.
  std::string place(const snapshot::ThreadSample& sample, Reach reach);
  Reach reach(const snapshot::ThreadSample& sample) const;
  // Returns all frames as they were read: native and Python, in call order; native ones first if
  // the two do not match.
  std::vector<snapshot::FrameId> all_frames(const snapshot::ThreadSample& sample) const;
  // Counts the frames in all_frames() before the first one that locals refer to: the native ones if
  // native and Python frames do not match.
  std::size_t frames_before_locals(const snapshot::ThreadSample& sample) const;
  std::vector<snapshot::FrameId> all_frames(const snapshot::ThreadSample* sample) const;
  ShownFrame shown(snapshot::FrameId id);
  // Returns the innermost frame that matches this story.
  std::optional<StoryHit> story(const snapshot::ThreadSample& sample, Story story);
  std::optional<StoryHit> story(const snapshot::ThreadSample* sample, Story story) {
    return sample == nullptr ? std::nullopt : this->story(*sample, story);
  }
  // Returns the same if no code of the program is inside of that frame, so that the frame itself
  // waits.
  std::optional<StoryHit> innermost_story(const snapshot::ThreadSample& sample, Story story);
  // Returns the first pattern of the story that the frame fits; null if there is none.
  const FramePattern* tells(snapshot::FrameId id, Story story);
  // Returns whether Python code inside of the story's loop does more than wait for the next item.
  bool works_inside(const snapshot::ThreadSample& sample, const StoryHit& loop);
  // Returns the pool that the thread belongs to, if it is idle: all its frames belong to the pool
  // or to a wait. A worker that is blocked inside of its work is not idle.
  std::optional<StoryHit> idle_pool(const snapshot::ThreadSample& sample);
  // Returns what a Python thread waits for in the standard library, by the function that the
  // program called: "waits for a future (concurrent.futures)"; "" if it is in no such function. A
  // callback that the library runs is not the library's wait.
  std::string_view python_wait(const snapshot::ThreadSample& sample);
  // Returns the innermost Python frame of the user's program; if there is none, the innermost
  // Python frame.
  std::optional<ShownFrame> user_frame(const snapshot::ThreadSample& sample);
  std::optional<ShownFrame> user_frame(const snapshot::ThreadSample* sample) {
    return sample == nullptr ? std::nullopt : user_frame(*sample);
  }
  // Returns where that frame is, as "load (train.py:88)" with `before` in front; "" without a
  // frame.
  std::string user_place(const snapshot::ThreadSample* sample, std::string_view before = {});
  // Returns the innermost Python frame, the user's or not.
  std::optional<snapshot::FrameId> python_frame(const snapshot::ThreadSample* sample) const;
  // Returns whether any frame of it was read.
  bool has_stack(const snapshot::ThreadSample* sample) {
    return sample != nullptr && !fold(*sample).frames.empty();
  }

  const snapshot::Tables& tables() const { return tables_; }

 private:
  struct Known {
    ShownFrame shown;
    FrameRole role = FrameRole::kPlain;
    snapshot::Library library = snapshot::Library::kOther;  // native: that it is in
    bool users = false;    // native: in a program or library of the user's own
    bool joins = false;    // native: shown once if it calls another one with the same name
    bool unknown = false;  // native, without a symbol, in no module that the patterns name
    std::vector<const FramePattern*> stories;  // that it tells, in the order of the catalogue
  };
  const Known& known(snapshot::FrameId id);
  void describe(snapshot::FrameId id, const snapshot::Frame& frame, Known& entry) const;
  void describe_native(const snapshot::Frame& frame, Known& entry) const;
  std::optional<StoryHit> find_story(const snapshot::ThreadSample& sample, Story story);
  bool rests(snapshot::FrameId id, std::string_view pool);
  FoldedStack fold_frames(const std::vector<snapshot::FrameId>& frames);
  // Among libc's frames from `at` on, adds the outermost named function: the call that the program
  // made. Returns the first frame after them.
  std::size_t add_call(const std::vector<snapshot::FrameId>& frames,
                       std::size_t at,
                       FoldedStack& folded);
  bool is_inlined(snapshot::FrameId id) const;
  std::vector<snapshot::FrameId> called_frames(const snapshot::ThreadSample& sample) const;

  const snapshot::Tables& tables_;
  std::unordered_map<std::uint32_t, Known> known_;
  std::map<std::pair<snapshot::StackId, snapshot::StackId>, FoldedStack> folded_;
  std::map<std::tuple<snapshot::StackId, snapshot::StackId, Story>, std::optional<StoryHit>>
      stories_;
};

// Returns "torch/a/b.py" for "/x/site-packages/torch/a/b.py", "demo/train.py" for
// "/home/u/demo/train.py".
std::string short_file(std::string_view path);

}  // namespace oddrank::aggregate
