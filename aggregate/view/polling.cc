#include "aggregate/view/polling.h"

#include <algorithm>
#include <array>

#include "aggregate/view/decider.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/word_of.h"
#include "base/ascii.h"
#include "snapshot/loops/named_loop.h"

namespace oddrank::aggregate {
namespace {

using snapshot::PollOn;
using snapshot::PythonLoop;
using snapshot::StringId;
using snapshot::ThreadCapture;

// The busy handler sleeps within the library. A stripped one has no names of its own; but nothing
// else in it sleeps.
bool in_busy_database(const JobView& view, const ThreadCapture& thread) {
  return snapshot::sleeps(thread, view.capture().tables) &&
         view.model().innermost_story(thread.samples.back(), Story::kDatabase);
}

std::optional<Poll> poll_of_frames(const JobView& view, const ThreadCapture& thread) {
  if (in_busy_database(view, thread)) {
    return Poll{PollOn::kDatabase, "execute", "", std::nullopt};
  }
  const auto hit = view.model().innermost_story(thread.samples.back(), Story::kPolls);
  if (!hit) {
    return std::nullopt;
  }
  const PollOn on = hit->pattern->polls;
  const StringId object = on == PollOn::kKey        ? thread.wait.rare->key
                          : on == PollOn::kLockFile ? thread.wait.path
                                                    : StringId{};
  return Poll{on, std::string(hit->pattern->words), std::string(view.text(object)), std::nullopt};
}

// Returns the frames that PythonLoop::frame counts.
const std::vector<snapshot::FrameId>& frames_of_loops(const JobView& view,
                                                      const snapshot::ThreadSample& sample) {
  return view.capture().tables.stacks()[sample.python_frames()].frames;
}

std::optional<Poll> poll_in(const JobView& view, const PythonLoop& loop) {
  const snapshot::NamedLoop named = snapshot::named_loop(loop, view.capture().tables);
  const auto asks = snapshot::find_asking_call(named);
  return asks ? std::optional(Poll{asks->on, std::string(named.calls[asks->call].name),
                                   std::string(view.text(loop.calls[asks->call].object)),
                                   loop.frame})
              : std::nullopt;
}

// Returns whether the thread rests for a short time again and again, at one place of its program.
bool rests_again(const JobView& view, const ThreadCapture& thread) {
  const auto& samples = thread.samples;
  const auto asleep = std::ranges::count_if(samples, [&](const snapshot::ThreadSample& sample) {
    return sleeps_in(thread, sample, view.model());
  });
  const std::int64_t quiet_ms = thread.wait.quiet_ms;
  const bool again = keeps_waking(thread) || samples.size() < 2 ||
                     (quiet_ms >= 0 && quiet_ms < snapshot::kOldWaitMs);
  return 2 * asleep >= std::ssize(samples) && again && stays_in_function(thread, view.model());
}

// Returns whether a loop that asks for this polls even without rests: reading a file or a
// connection piece by piece may be work.
bool polls_without_rest(const PythonLoop& loop, const Poll& poll) {
  const bool in_pieces = poll.on == PollOn::kUnknown || poll.on == PollOn::kDatabase ||
                         poll.on == PollOn::kConnection ||
                         (poll.on == PollOn::kFile && poll.object.empty());
  return !loop.iterates && !in_pieces;
}

}  // namespace

bool only_rests(const JobView& view, const PythonLoop& loop) {
  return snapshot::only_rests(snapshot::named_loop(loop, view.capture().tables));
}

bool rests_in_loop(const JobView& view, const ThreadCapture& thread) {
  const bool reads =
      thread.wait.on == snapshot::WaitOn::kSocket || thread.wait.on == snapshot::WaitOn::kPipe;
  if (thread.samples.empty() || reads) {  // `for line in connection:` calls nothing that waits
    return false;
  }
  const auto& frames = frames_of_loops(view, thread.samples.back());
  const auto own = std::ranges::find_if(thread.loops, [&](const PythonLoop& loop) {
    return loop.frame < frames.size() && view.model().shown(frames[loop.frame]).user;
  });
  return own != thread.loops.end() && only_rests(view, *own);
}

bool rests_for_good(const JobView& view, const ThreadCapture& thread) {
  return std::ranges::any_of(
      thread.loops, [&](const PythonLoop& loop) { return loop.endless && only_rests(view, loop); });
}

std::optional<Poll> poll_of(const JobView& view, const ThreadCapture& thread) {
  if (thread.samples.empty()) {
    return std::nullopt;
  }
  if (auto poll = poll_of_frames(view, thread)) {
    return poll;
  }
  if (is_at_own_lock(thread)) {
    return std::nullopt;  // it waits within the loop, without a time limit
  }
  const bool rests = rests_again(view, thread);
  const auto& frames = frames_of_loops(view, thread.samples.back());
  for (const PythonLoop& loop : thread.loops) {
    if (loop.frame >= frames.size() || loop.frame != thread.loops.front().frame ||
        snapshot::python_frames_inside(loop, thread.samples.back(), view.capture().tables) >
            snapshot::kMaxRestFrames) {
      return std::nullopt;
    }
    if (auto poll = poll_in(view, loop)) {
      return rests || polls_without_rest(loop, *poll) ? poll : std::nullopt;
    }
  }
  return std::nullopt;
}

std::string_view poll_noun(PollOn on) {
  // In the order of PollOn.
  constexpr auto kNouns = std::to_array<std::string_view>({
      "something that is not known",
      "a lock file",
      "a key of a store",
      "communication that was begun",
      "the device",
      "a process",
      "a thread or task",
      "a lock",
      "an event",
      "a queue",
      "a database's lock",
      "a file",
      "a connection",
  });
  static_assert(static_cast<std::size_t>(PollOn::kConnection) + 1 == kNouns.size());
  return word_of(kNouns, on);
}

}  // namespace oddrank::aggregate
