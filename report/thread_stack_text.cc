#include "report/thread_stack_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "aggregate/crash_words.h"
#include "aggregate/frames/frame_model.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::report {

using aggregate::JobView;
using snapshot::FrameId;
using snapshot::MergeState;
using snapshot::ProcessCapture;
using snapshot::StackEnd;
using snapshot::StackId;
using snapshot::ThreadCapture;
using snapshot::ThreadSample;

namespace {

constexpr std::size_t kStackIndent = 4;
constexpr std::size_t kLocalIndent = 8;
constexpr std::size_t kMoreIndent = 4;  // of the further lines of a value
constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

std::string_view end_words(StackEnd end) {
  switch (end) {
    case StackEnd::kNoUnwindInfo:
      return "no unwind information further out";
    case StackEnd::kBadMemory:
      return "the stack's memory could not be read further out";
    case StackEnd::kLimit:
      return "cut: the stack is longer than the limit";
    case StackEnd::kRunning:
      return "no native frames: the thread was running and was not stopped (--never-stop, or it "
             "could not be)";
    case StackEnd::kRunningTorn:
      return "no native frames, and the Python frames may be of different moments: the thread was "
             "running and was not stopped (--never-stop, or it could not be)";
    case StackEnd::kGone:
      return "the thread ended while it was read";
    case StackEnd::kTorn:
      return "the thread moved while it was read";
    default:
      return "";
  }
}

aggregate::FoldedStack stack_of(const aggregate::JobView& view,
                                const ThreadSample& sample,
                                bool full) {
  aggregate::FoldedStack stack = view.model().fold_with_inlined(sample);
  if (full) {
    stack.frames.clear();
    stack.hidden = 0;
    for (const FrameId id : view.model().all_frames(sample)) {
      stack.frames.push_back(view.model().shown(id));
    }
  }
  return stack;
}

// Returns "name  place" within `width` columns; the end of the place is the most telling part.
std::string cell(const std::vector<aggregate::ShownFrame>& frames,
                 std::size_t at,
                 std::size_t width) {
  if (at >= frames.size()) {
    return {};
  }
  const std::string place = frames[at].shown_place();
  const std::string name = cut_middle(frames[at].name, width);
  const std::size_t used = columns(name) + 2;
  constexpr std::size_t kMinPlace = 10;
  return used + kMinPlace > width || place.empty() ? name
                                                   : name + "  " + cut_front(place, width - used);
}

std::string side_by_side(const aggregate::FoldedStack& native,
                         const aggregate::FoldedStack& python,
                         const Style& style) {
  const std::size_t width = (style.width() - kStackIndent - 3) / 2;
  const auto row = [&](const std::string& left, const std::string& right) {
    const std::string pad(width - std::min(width, columns(left)), ' ');
    return std::string(kStackIndent, ' ') + left + pad + " | " + right + '\n';
  };
  std::string text = row("native", "Python");
  const std::size_t rows = std::max(native.frames.size(), python.frames.size());
  for (std::size_t at = 0; at < rows; ++at) {
    text += row(cell(native.frames, at, width), cell(python.frames, at, width));
  }
  return text;
}

std::string mismatch_words(const snapshot::Tables& tables, const ThreadSample& sample) {
  const auto count = [&tables](StackId id, snapshot::FrameFlag flag) {
    std::size_t number = 0;
    for (const FrameId frame : tables.stack(id).frames) {
      const bool known = tables.frames().contains(frame);
      number += known && (tables.frame(frame).flags & flag) != 0 ? 1 : 0;
    }
    return number;
  };
  return fmt::format("native and Python frames do not match: {}, {} of Python",
                     count_of(count(sample.stack, snapshot::kEvaluation), "evaluation loop"),
                     count_of(count(sample.python_stack, snapshot::kEntry), "entry"));
}

std::string locals_text(const aggregate::JobView& view,
                        const snapshot::FrameLocals& row,
                        const Style& style) {
  constexpr std::size_t kMaxValue = 8192;  // more than any value has (cpython/objects/contents.cc)
  std::string text;
  for (const snapshot::Local& local : row.locals) {
    std::string line = fmt::format("{} = {}", printable(view.text(local.name), 100),
                                   printable(view.text(local.value), kMaxValue));
    std::size_t indent = kLocalIndent;
    for (const std::string& part : wrap(line, style.width() - indent - kMoreIndent)) {
      text += std::string(indent, ' ') + style.dim(part) + '\n';
      indent = kLocalIndent + kMoreIndent;
    }
  }
  return text;
}

// Adds to frames the locals that belong to them. The shown frames are some of those that were read,
// in the same order.
std::string with_locals(const aggregate::JobView& view,
                        const ThreadCapture& thread,
                        const aggregate::FoldedStack& stack,
                        const Style& style) {
  const ThreadSample& sample = thread.samples.back();
  const auto all = view.model().all_frames(sample);
  const std::size_t before = view.model().frames_before_locals(sample);
  std::string text;
  std::size_t next = 0;
  for (const aggregate::ShownFrame& frame : stack.frames) {
    text += style.frame_line(frame, kStackIndent);
    const auto at = std::find(all.begin() + static_cast<std::ptrdiff_t>(next), all.end(), frame.id);
    if (at == all.end()) {
      continue;
    }
    next = static_cast<std::size_t>(at - all.begin());
    for (const snapshot::FrameLocals& row : thread.locals) {
      if (row.frame + before == next) {
        text += locals_text(view, row, style);
      }
    }
    ++next;
  }
  return text;
}

}  // namespace

std::string thread_stack_text(const aggregate::JobView& view,
                              const ThreadCapture& thread,
                              const Style& style,
                              const TextOptions& options) {
  if (thread.samples.empty()) {
    return "    no stack was read\n";
  }
  const ThreadSample& sample = thread.samples.back();
  const snapshot::Tables& tables = view.capture().tables;
  const bool known = tables.stacks().contains(sample.stack);
  const bool apart = known && tables.stacks().contains(sample.python_stack) &&
                     tables.stack(sample.stack).merge == MergeState::kMismatch;
  const aggregate::FoldedStack stack = stack_of(view, sample, options.full_stacks);
  std::string text;
  if (options.locals && !thread.locals.empty()) {
    text = with_locals(view, thread, stack, style);
  } else if (apart) {
    ThreadSample native = sample;
    native.python_stack = {};
    ThreadSample python = native;
    python.stack = sample.python_stack;
    text = side_by_side(stack_of(view, native, options.full_stacks),
                        stack_of(view, python, options.full_stacks), style);
  } else {
    text = style.stack_lines(stack, kStackIndent, kNoLimit);
  }
  if (stack.frames.empty()) {
    text = "    no frame was read\n";
  }
  if (known) {
    const auto words = end_words(tables.stack(sample.stack).end);
    text += words.empty() ? "" : style.dim(fmt::format("    ... {}", words)) + '\n';
  }
  if (apart) {
    text += style.dim("    ... " + mismatch_words(tables, sample)) + '\n';
  }
  return text;
}

namespace {

// Describes where a thread of a pool is idle, and whose pool it is; "" = to be shown.
std::string pool_of(const JobView& view,
                    const ProcessCapture& process,
                    const ThreadCapture& thread) {
  if (thread.tid == process.pid || thread.samples.empty() || thread.samples.back().state == 'R') {
    return {};
  }
  const auto hit = view.model().idle_pool(thread.samples.back());
  if (!hit || (thread.has_python && hit->pattern->kind == snapshot::FrameKind::kNative)) {
    return {};
  }
  const auto& frames = view.model().fold(thread.samples.back()).frames;
  return fmt::format("in {} ({})", frames.empty() ? "?" : frames.front().name, hit->pattern->words);
}

std::string place_of(const JobView& view,
                     const ProcessCapture& process,
                     const ThreadCapture& thread) {
  return view.model().fold(thread.samples.back()).key +
         aggregate::thread_wait_words(view, process, thread);
}

}  // namespace

std::vector<std::int32_t> ThreadClass::tids() const {
  std::vector<std::int32_t> result;
  for (const ThreadCapture* thread : threads) {
    result.push_back(thread->tid);
  }
  return result;
}

std::vector<ThreadClass> classify_threads(const JobView& view,
                                          const ProcessCapture& process,
                                          bool all,
                                          bool locals) {
  std::vector<ThreadClass> classes;
  std::map<std::string, ThreadClass> pools;
  std::unordered_map<std::string, std::size_t> known;
  for (const ThreadCapture& thread : process.threads) {
    if (all || thread.tid == process.pid || thread.samples.empty() ||
        aggregate::has_crashed(process, thread)) {
      classes.push_back({{&thread}, {}});
      continue;
    }
    if (const std::string pool = pool_of(view, process, thread); !pool.empty()) {
      pools[pool].threads.push_back(&thread);
      continue;
    }
    if (locals && !thread.locals.empty()) {
      classes.push_back({{&thread}, {}});
      continue;
    }
    const auto [at, is_new] = known.try_emplace(place_of(view, process, thread), classes.size());
    if (is_new) {
      classes.push_back({{&thread}, {}});
    } else {
      classes[at->second].threads.push_back(&thread);
    }
  }
  std::stable_partition(classes.begin(), classes.end(), [&process](const ThreadClass& one) {
    return aggregate::has_crashed(process, *one.threads.front());
  });
  for (auto& [words, pool] : pools) {
    pool.pool = words;
    classes.push_back(std::move(pool));
  }
  return classes;
}

}  // namespace oddrank::report
