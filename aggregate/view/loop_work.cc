#include "aggregate/view/loop_work.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "aggregate/frames/frame_model.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/view/without_work.h"
#include "base/printable.h"
#include "base/span_words.h"
#include "snapshot/loops/named_loop.h"

namespace oddrank::aggregate {

using snapshot::PollOn;

namespace {

// A loop that takes longer is not meant to end, such as one that only counts its tries.
constexpr std::chrono::milliseconds kMaxWork = std::chrono::hours(12);

// Returns how long the rest takes if the loop goes on as it did, at most twice kMaxWork; 0 if
// that is not known.
std::chrono::milliseconds rest_of(const LoopWork& work) {
  const double rest_ms = static_cast<double>(work.left) * static_cast<double>(work.between_ms) /
                         static_cast<double>(work.done);
  const auto most = static_cast<double>((2 * kMaxWork).count());
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min(rest_ms, most)));
}

// Returns "come in" or "gone out" if the thread waits at one TCP connection with data in that
// direction in the last second, and none the other way for long. A polling thread both sends and
// gets answers; at a stuck connection, nothing goes either way. The kernel shows less about a pipe:
// that the process has read something, and that the thread has just run.
std::string_view flow_at(const JobView& view,
                         const snapshot::ProcessCapture& process,
                         const snapshot::Wait& wait) {
  constexpr std::int64_t kJustNowMs = 1000;
  if (wait.on == snapshot::WaitOn::kPipe && wait.how != snapshot::WaitHow::kFiles) {
    const bool reads = view.text(wait.syscall_name) == "read" && process.read_bytes > 0 &&
                       wait.quiet_ms >= 0 && wait.quiet_ms < kJustNowMs;
    return reads ? "come in" : std::string_view();
  }
  if (wait.on != snapshot::WaitOn::kSocket || wait.rare->awaited.size() != 1) {
    return {};
  }
  const snapshot::AwaitedFile& file = wait.rare->awaited.front();
  const auto just_now = [](std::int64_t ago_ms) { return ago_ms >= 0 && ago_ms < kJustNowMs; };
  if (just_now(file.received_ms) && file.sent_ms >= snapshot::kOldWaitMs) {
    return "come in";
  }
  return just_now(file.sent_ms) && file.unsent > 0 && file.received_ms >= snapshot::kOldWaitMs
             ? "gone out"
             : std::string_view();
}

bool puts_out(const JobView& view, const snapshot::PythonLoop& loop) {
  const snapshot::NamedLoop named = snapshot::named_loop(loop, view.capture().tables);
  return std::ranges::any_of(named.calls, snapshot::puts_out);
}

// Returns whether the loop may end by what it asks for, not by its items. If the capture does not
// say what ends it, and for a loop that writes: whether the thread polls.
bool ends_by_asking(const JobView& view,
                    const snapshot::ThreadCapture& thread,
                    const snapshot::PythonLoop& loop,
                    bool counts) {
  const auto ends =
      counts ? snapshot::ends_by_answer(snapshot::named_loop(loop, view.capture().tables))
             : snapshot::Known::kUnknown;
  if (ends != snapshot::Known::kUnknown) {
    return ends == snapshot::Known::kYes;
  }
  const auto poll = poll_of(view, thread);
  return poll && poll->on != PollOn::kUnknown;
}

}  // namespace

bool writes(const snapshot::ProcessCapture& process, const snapshot::ThreadCapture& thread) {
  // What it sends in calls of its groups may be all that it has written.
  const bool calls = std::ranges::any_of(process.groups, [](const snapshot::ProcessGroup& group) {
    return std::ranges::any_of(group.counters, snapshot::has_counted_on);
  });
  return process.written_bytes > 0 && !calls && thread.wait.quiet_ms < snapshot::kOldWaitMs;
}

std::optional<LoopWork> loop_work(const JobView& view,
                                  const snapshot::ProcessCapture& process,
                                  const snapshot::ThreadCapture& thread) {
  if (thread.samples.empty() || thread.call || remote_call(view.model(), thread)) {
    return std::nullopt;
  }
  if (const std::string_view flow = flow_at(view, process, thread.wait); !flow.empty()) {
    const auto frame = view.model().user_frame(thread.samples.back());
    return frame ? std::optional(
                       LoopWork{.function = frame->name, .place = frame->place(), .flow = flow})
                 : std::nullopt;
  }
  const auto goes_on = [](const snapshot::PythonLoop& loop) {
    return loop.left >= 0 && loop.left_before > loop.left;
  };
  auto loop = std::ranges::find_if(thread.loops, goes_on);
  const bool counts = loop != thread.loops.end();
  // What is written by a loop that only tries again is a log of its failures.
  if (!counts && writes(process, thread) && !waits_to_try_again(thread)) {
    loop = std::ranges::find_if(thread.loops,
                                [&view](const auto& each) { return puts_out(view, each); });
  }
  const auto& frames = view.capture().tables.stacks()[thread.samples.back().python_frames()].frames;
  if (loop == thread.loops.end() || loop->frame >= frames.size()) {
    return std::nullopt;
  }
  if (ends_by_asking(view, thread, *loop, counts)) {
    return std::nullopt;
  }
  ShownFrame frame = view.model().shown(frames[loop->frame]);
  if (!frame.user) {  // a loop of a library hands out the items of the program's
    frame = view.model().user_frame(thread.samples.back()).value_or(frame);
  }
  if (!counts) {
    return LoopWork{
        .function = frame.name, .place = frame.place(), .written = process.written_bytes};
  }
  const LoopWork work{.function = frame.name,
                      .place = frame.place(),
                      .done = loop->left_before - loop->left,
                      .left = loop->left,
                      .between_ms = loop->between_ms};
  return rest_of(work) <= kMaxWork ? std::optional(work) : std::nullopt;
}

std::optional<LoopWork> work_of_children(const JobView& view, const RankView& rank) {
  const bool waits = reaps_child(*rank.decider, view.model()) || rank.polls == PollOn::kChild ||
                     rank.decider->wait.rare->about == snapshot::WaitAbout::kPool;
  if (!waits || rank.decider->call || waits_to_try_again(*rank.decider)) {
    return std::nullopt;
  }
  // A zombie may have to wait for the rank. One that went away did not.
  const auto reaped = std::ranges::count_if(rank.children, [&rank](const auto* child) {
    return child->parent == rank.pid() && child->state == 'X';
  });
  const auto frame = view.model().user_frame(rank.decider->samples.back());
  return reaped == 0 || !frame
             ? std::nullopt
             : std::optional(LoopWork{.function = frame->name,
                                      .place = frame->place(),
                                      .children = static_cast<std::size_t>(reaped)});
}

std::optional<LoopWork> work_after_sleep(const JobView& view, const RankView& rank) {
  constexpr std::chrono::milliseconds kSoon = std::chrono::minutes(1);
  const snapshot::Wait& wait = rank.decider->wait;
  // A short sleep comes again and again, in a loop that may ask for something.
  if (!sleeps_for_set_time(view, rank) || wait.limit_ms > kSoon.count() || wait.quiet_ms < 1000 ||
      rests_in_loop(view, *rank.decider)) {
    return std::nullopt;
  }
  const auto frame = view.model().user_frame(rank.decider->samples.back());
  return frame ? std::optional(LoopWork{
                     .function = frame->name, .place = frame->place(), .sleeps_ms = wait.limit_ms})
               : std::nullopt;
}

std::string work_words(const LoopWork& work) {
  if (work.sleeps_ms > 0) {
    return fmt::format("it sleeps, for {} more at most",
                       span_words(std::chrono::milliseconds(work.sleeps_ms)));
  }
  if (work.children > 0) {
    return fmt::format("{} of its child processes {} ended meanwhile, and it waits for the next",
                       work.children, work.children == 1 ? "has" : "have");
  }
  const std::string done = fmt::format("{} item{}", work.done, work.done == 1 ? "" : "s");
  if (!work.flow.empty()) {
    return fmt::format("data has {} within the last second", work.flow);
  }
  if (work.written > 0) {
    return fmt::format("its loop has written {} meanwhile",
                       count_of(static_cast<std::size_t>(work.written), "byte"));
  }
  if (work.between_ms <= 0) {
    return fmt::format("its loop has done {}, with {} left", done, work.left);
  }
  return fmt::format("its loop has done {} in {}, with {} left (about {})", done,
                     span_words(std::chrono::milliseconds(work.between_ms)), work.left,
                     span_words(rest_of(work)));
}

namespace {

// Loops are read for this many innermost Python frames (cpython/python_process.h).
constexpr std::size_t kFramesWithLoops = 6;

struct LoopedFrame {
  snapshot::Frame frame;
  snapshot::FrameId id{};
  std::size_t loops = 0;
};

struct LoopedFrames {
  std::vector<LoopedFrame> frames;  // the program's own whose loops were read, innermost first
  bool all = false;                 // the loops of all Python frames were read
};

LoopedFrames looped_frames(const JobView& view, const RankView& rank) {
  LoopedFrames found;
  const snapshot::ThreadSample* sample = rank.sample();
  if (sample == nullptr) {
    return found;
  }
  const snapshot::Tables& tables = view.capture().tables;
  const auto& frames = tables.stack(sample->python_frames()).frames;
  std::size_t python = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const snapshot::Frame& frame = tables.frame(frames[i]);
    if (frame.kind != snapshot::FrameKind::kPython || ++python > kFramesWithLoops) {
      continue;
    }
    if (view.model().shown(frames[i]).user) {
      const auto& loops = rank.decider->loops;
      const auto count =
          std::ranges::count_if(loops, [i](const auto& loop) { return loop.frame == i; });
      found.frames.push_back({frame, frames[i], static_cast<std::size_t>(count)});
    }
  }
  found.all = python <= kFramesWithLoops;
  return found;
}

}  // namespace

std::optional<LeftLoop> left_loop(const JobView& view,
                                  const RankView& rank,
                                  const RankView& inside) {
  const LoopedFrames own = looped_frames(view, rank);
  for (const LoopedFrame& looped : looped_frames(view, inside).frames) {
    if (looped.loops == 0) {
      continue;
    }
    const bool left = std::ranges::any_of(own.frames, [&looped](const LoopedFrame& one) {
      return one.frame.function == looped.frame.function && one.frame.file == looped.frame.file &&
             one.loops < looped.loops && one.frame.line > looped.frame.line;
    });
    if (left) {
      const bool in_none =
          std::ranges::all_of(own.frames, [](const LoopedFrame& one) { return one.loops == 0; });
      return LeftLoop{view.model().shown(looped.id).place(), own.all && in_none};
    }
  }
  return std::nullopt;
}

}  // namespace oddrank::aggregate
