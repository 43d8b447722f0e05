#include "node/enough_samples.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include "collectives/call_table.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::FrameId;
using snapshot::FrameKind;
using snapshot::Library;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::ThreadSample;
using std::chrono::milliseconds;
using Times = std::span<const milliseconds>;

constexpr milliseconds kFirstInterval{500};
// A shorter interval is not worth a sample.
constexpr milliseconds kLeastInterval{250};
// Ages are as of some moment while a sample is read, which may take this long.
constexpr milliseconds kAgeMargin{400};
// A process that works, rests and works again is seen to do so several times in so many samples.
constexpr std::size_t kTurnSamples = 4;
// How often a rank must be seen to move.
constexpr int kMotionsThatTell = 2;

enum class SeenMotion : std::uint8_t { kOld, kMoves, kYoung, kRuns, kStoppedOnce };

// A thread that shows what its rank does.
struct Strand {
  SeenMotion motion = SeenMotion::kRuns;
  milliseconds age{0};   // of its wait, which decides whether it is old or young
  bool in_call = false;  // or in a native wait for another thread, which awaits its completion
  // The age of its wait is lost: Linux 6.12 and later forget it for a sleeping thread that they
  // move to another CPU (delayed dequeue; about one in ten).
  bool ageless = false;
  std::vector<FrameId> place;
};

struct Pacing {
  std::vector<Strand> undecided;
  bool stopped_once = false;
  // A rank has waited in a call for longer than we would ever sample, and no rank has begun such a
  // wait lately: the job stands. Without the second condition it may be a rank that is seldom
  // needed.
  bool held_up = false;
  bool in_turns = false;  // it takes several samples to see whether a process of a rank works
};

// Returns the frames that identify the place: Python's if there are any, since the native frames
// below differ from sample to sample in a spinning wait.
std::vector<FrameId> sampled_place(const Capture& capture, const ThreadSample& sample) {
  const auto& tables = capture.tables;
  const auto& frames = tables.stack(sample.python_frames()).frames;
  std::vector<FrameId> python;
  std::copy_if(frames.begin(), frames.end(), std::back_inserter(python),
               [&tables](FrameId id) { return tables.frame(id).kind == FrameKind::kPython; });
  return python.empty() && sample.state != 'R' ? frames : python;
}

bool is_in_call(const Capture& capture, const ThreadCapture& thread) {
  if (thread.samples.empty()) {
    return false;
  }
  const auto frames = sampled_place(capture, thread.samples.back());
  return std::any_of(frames.begin(), frames.end(), [&capture](FrameId id) {
    const snapshot::Frame& frame = capture.tables.frame(id);
    const std::string_view name = capture.tables.text(frame.function);
    return frame.kind == FrameKind::kPython &&
           collectives::find_python_call(name, capture.tables.text(frame.file)) != nullptr;
  });
}

// Returns whether the thread is blocked on a lock or condition of native code: a program waits that
// way for an asynchronous call (Work.wait()).
bool waits_natively(const ThreadCapture& thread) {
  const snapshot::Wait& wait = thread.wait;
  return wait.on == snapshot::WaitOn::kLock && wait.how != snapshot::WaitHow::kPythonLock;
}

// Returns whether the thread is in the driver of a GPU or in NCCL: below it there is only the C
// library, which it asks for the time and for messages.
bool is_in_library(const Capture& capture, const ThreadSample& sample) {
  for (const FrameId id : capture.tables.stack(sample.stack).frames) {
    const snapshot::Frame& frame = capture.tables.frame(id);
    const Library library = snapshot::library_of(capture.tables.text(frame.file));
    if (!snapshot::is_libc(library)) {
      return snapshot::is_driver(library) || library == Library::kNccl;
    }
  }
  return false;
}

bool spins_in_library(const Capture& capture, const ThreadCapture& thread) {
  return thread.samples.size() >= 2 && thread.samples.back().state == 'R' &&
         std::all_of(thread.samples.begin(), thread.samples.end(),
                     [&](const ThreadSample& sample) { return is_in_library(capture, sample); });
}

// Counts the samples that found the thread at a new place, or further on at the same one.
int motions(const Capture& capture, const ThreadCapture& thread) {
  std::vector<std::vector<FrameId>> known;
  int count = 0;
  for (const ThreadSample& sample : thread.samples) {
    auto place = sampled_place(capture, sample);
    const bool is_new = std::find(known.begin(), known.end(), place) == known.end();
    const bool moved = sample.locals_changed || (is_new && !place.empty());
    count += !known.empty() && moved ? 1 : 0;
    known.push_back(std::move(place));
  }
  return count;
}

bool is_stopped(const ThreadSample& sample) {
  return sample.state == 'T' || sample.state == 't';
}

// `event`: how long ago the process has made a call, or noticed the end of one; negative: unknown.
Strand strand_of(const Capture& capture,
                 const ThreadCapture& thread,
                 Times begun,
                 milliseconds event) {
  Strand strand;
  strand.in_call = is_in_call(capture, thread) || waits_natively(thread);
  strand.ageless = thread.wait.quiet_ms < 0;
  const auto& samples = thread.samples;
  const ThreadSample& last = samples.back();
  if (is_stopped(last) && (samples.size() < 2 || !is_stopped(samples[samples.size() - 2]))) {
    strand.motion = SeenMotion::kStoppedOnce;
    return strand;
  }
  if (last.state != 'R') {
    strand.age = std::max(milliseconds(std::max<std::int64_t>(thread.wait.quiet_ms, 0)),
                          begun.back() - begun[samples.still_since()]);
  } else if (spins_in_library(capture, thread) && motions(capture, thread) == 0) {
    strand.age = std::max(event, milliseconds(0));
  }
  const bool slept_through =
      last.state != 'R' && begun.size() > 1 && strand.age >= begun.back() - begun[begun.size() - 2];
  if (strand.age >= kOldWait) {
    strand.motion = SeenMotion::kOld;
  } else if (motions(capture, thread) >= kMotionsThatTell) {
    strand.motion = SeenMotion::kMoves;
  } else {
    strand.motion = slept_through ? SeenMotion::kYoung : SeenMotion::kRuns;
  }
  return strand;
}

// Returns the threads that show what the rank does; none if it was not read in each sample.
std::vector<Strand> strands_of(const Capture& capture,
                               const ProcessCapture& process,
                               Times begun,
                               milliseconds event) {
  std::vector<Strand> strands;
  if (process.threads.empty() || process.threads.front().samples.size() != begun.size() ||
      process.read == snapshot::ReadState::kNone) {
    return strands;
  }
  for (const ThreadCapture& thread : process.threads) {
    const bool is_main = &thread == &process.threads.front();
    // Fewer samples: the thread has exited, or has just started.
    if (thread.samples.size() == begun.size() && (is_main || is_in_call(capture, thread))) {
      strands.push_back(strand_of(capture, thread, begun, event));
      strands.back().place = sampled_place(capture, thread.samples.back());
    }
  }
  return strands;
}

// Decides about strands whose age is unknown: a strand that slept through all samples at a place
// where another rank has an old wait is taken to wait for the same.
void settle_ageless(const std::set<std::vector<FrameId>>& old_places, Pacing& pacing) {
  std::erase_if(pacing.undecided, [&](const Strand& strand) {
    return strand.ageless && strand.motion == SeenMotion::kYoung && !strand.place.empty() &&
           old_places.contains(strand.place);
  });
}

// Returns whether the rank waits for a process, and has one that rests for a moment between its
// turns: only several turns show whether it gets something done.
bool has_working_process(const Capture& capture, const ProcessCapture& rank) {
  const snapshot::WaitOn on = rank.threads.front().wait.on;
  const bool waits = on == snapshot::WaitOn::kChild || on == snapshot::WaitOn::kPipe ||
                     on == snapshot::WaitOn::kThread || on == snapshot::WaitOn::kLock;
  const auto rests = [&](const ProcessCapture& process) {
    return !process.is_rank && process.owner == rank.pid && process.node == rank.node &&
           !process.threads.empty() && process.threads.front().has_python &&
           process.threads.front().wait.quiet_ms >= 0 &&
           process.threads.front().wait.quiet_ms < kOldWait.count() &&
           process.threads.front().wait.limit_ms > 0;
  };
  return waits && !is_in_call(capture, rank.threads.front()) &&
         std::any_of(capture.processes.begin(), capture.processes.end(), rests);
}

Pacing pacing_of(const Capture& capture, Times begun, const EventAges& events) {
  Pacing pacing;
  std::set<std::vector<FrameId>> old_places;
  bool young_call = false;
  for (std::size_t at = 0; at < capture.processes.size(); ++at) {
    const ProcessCapture& process = capture.processes[at];
    if (!process.is_rank) {
      continue;
    }
    const milliseconds event = at < events.size() ? events[at] : milliseconds(-1);
    const auto strands = strands_of(capture, process, begun, event);
    pacing.in_turns = pacing.in_turns || (!strands.empty() && begun.size() < kTurnSamples &&
                                          has_working_process(capture, process));
    bool all_old = !strands.empty();
    bool in_call = false;
    milliseconds least = kMaxSampling;
    for (const Strand& strand : strands) {
      pacing.stopped_once = pacing.stopped_once || strand.motion == SeenMotion::kStoppedOnce;
      if (strand.motion != SeenMotion::kOld && strand.motion != SeenMotion::kMoves) {
        pacing.undecided.push_back(strand);
      }
      if (strand.motion == SeenMotion::kOld) {
        old_places.insert(strand.place);
      }
      young_call =
          young_call || (strand.in_call && !strand.ageless && strand.motion == SeenMotion::kYoung);
      all_old = all_old && strand.motion == SeenMotion::kOld;
      in_call = in_call || strand.in_call;
      least = std::min(least, strand.age);
    }
    pacing.held_up = pacing.held_up || (all_old && in_call && least >= kMaxSampling);
  }
  settle_ageless(old_places, pacing);
  pacing.held_up = pacing.held_up && !young_call;
  return pacing;
}

}  // namespace

bool spins_in_library(const Capture& capture) {
  return std::any_of(capture.processes.begin(), capture.processes.end(), [&](const auto& process) {
    return process.is_rank &&
           std::any_of(process.threads.begin(), process.threads.end(), [&](const auto& thread) {
             const bool is_main = &thread == &process.threads.front();
             return (is_main || thread.has_python) && spins_in_library(capture, thread);
           });
  });
}

NextSample next_sample(const Capture& capture,
                       std::span<const milliseconds> begun,
                       const EventAges& events) {
  NextSample next;
  if (begun.size() < 2) {
    return {SampleReason::kFirst, kFirstInterval};
  }
  if (begun.size() >= kMaxSamples) {
    return next;
  }
  const Pacing pacing = pacing_of(capture, begun, events);
  if (pacing.stopped_once) {
    next.reason = SampleReason::kStoppedOnce;
  } else if (pacing.in_turns) {
    next = {SampleReason::kRuns, kFirstInterval * (1 << (begun.size() - 1))};
  } else if (pacing.undecided.empty() || pacing.held_up) {
    return next;
  } else {
    const bool all_wait =
        std::all_of(pacing.undecided.begin(), pacing.undecided.end(),
                    [](const Strand& strand) { return strand.motion == SeenMotion::kYoung; });
    const bool any_waits = std::any_of(
        pacing.undecided.begin(), pacing.undecided.end(),
        [](const Strand& strand) { return strand.motion == SeenMotion::kYoung || strand.in_call; });
    next.reason = any_waits ? SampleReason::kYoungWaits : SampleReason::kRuns;
    next.after = kFirstInterval * (1 << (begun.size() - 1));
    if (all_wait) {
      const auto youngest =
          std::min_element(pacing.undecided.begin(), pacing.undecided.end(),
                           [](const Strand& a, const Strand& b) { return a.age < b.age; });
      next.after = std::min(next.after, kOldWait - youngest->age + kAgeMargin);
    }
  }
  next.after = std::max(
      next.after, next.reason == SampleReason::kStoppedOnce ? kFirstInterval : kLeastInterval);
  next.after = std::min(next.after, kMaxSampling - begun.back());
  return next.after < kLeastInterval ? NextSample{} : next;
}

NextSample in_time(NextSample next, const SamplingTime& time) {
  const milliseconds latest = kMaxSampling - time.before - time.last_begun - 4 * time.takes;
  next.after = std::min(next.after, latest);
  return next.after < std::max(kLeastInterval, time.takes) ? NextSample{} : next;
}

milliseconds longest_sampling(const CaptureOptions& options) {
  return options.until_decided ? kMaxSampling : milliseconds(0);
}

std::string again_words(SampleReason reason, std::size_t sample) {
  const char* why = reason == SampleReason::kStoppedOnce ? "a rank was stopped for an instant"
                    : reason == SampleReason::kRuns      ? "a rank runs"
                                                         : "waits are young";
  return std::string(why) + ", sampling again (" + std::to_string(sample) + ")";
}

}  // namespace oddrank::node
