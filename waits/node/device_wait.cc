#include "waits/node/device_wait.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/base_name.h"
#include "snapshot/libraries/known_libraries.h"
#include "snapshot/loops/named_loop.h"
#include "waits/device_calls.h"
#include "waits/native_lock.h"

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::FrameId;
using snapshot::FrameKind;
using snapshot::ProcessCapture;
using snapshot::StringId;
using snapshot::Tables;
using snapshot::ThreadCapture;
using snapshot::ThreadSample;
using snapshot::Wait;
using snapshot::WaitHow;
using snapshot::WaitOn;

// A driver's call is near the inner end of a stack.
constexpr std::size_t kMaxInside = 64;
// The driver polls if at least this many of its functions, the entry included, have not returned
// between any two samples: one of them has the loop. (Driver 580: cuLaunchKernel(), which loads a
// kernel's module while another kernel runs, polls six functions inside, cuStreamSynchronize()
// three.)
constexpr std::size_t kLeastHeld = 3;

// The innermost frame of a sample that concerns a device.
struct Place {
  const DeviceCall* call = nullptr;  // null: a driver's frame whose entry points have no names
  std::size_t index = 0;             // of the frame, in `frames`
  bool gives_cpu_up = false;         // inside of it, in sched_yield()
  const std::vector<FrameId>* frames = nullptr;
};

bool is_driver_frame(const Frame& frame, const Tables& tables) {
  return snapshot::is_driver(snapshot::library_of(tables.text(frame.file)));
}

// Returns the frame at which the thread entered the driver, if the driver's frames have no names. A
// thread that the driver itself started has only the thread's start outside of them.
std::optional<std::size_t> entry_of_driver(const std::vector<FrameId>& frames,
                                           const Tables& tables) {
  std::optional<std::size_t> entry;
  bool called = false;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Frame& frame = tables.frame(frames[i]);
    if (is_driver_frame(frame, tables)) {
      entry = i;
      called = false;
    } else if (!snapshot::is_libc(tables.text(frame.file))) {
      if (!entry) {
        return std::nullopt;
      }
      called = true;
    }
  }
  return called ? entry : std::nullopt;
}

std::optional<Place> place_of(const ThreadSample& sample, const Tables& tables) {
  const std::vector<FrameId>& frames = tables.stack(sample.stack).frames;
  Place place;
  place.frames = &frames;
  for (std::size_t i = 0; i < std::min(frames.size(), kMaxInside); ++i) {
    const Frame& frame = tables.frame(frames[i]);
    if (frame.kind == FrameKind::kPython) {
      break;  // Python code called from within a call is the program's own
    }
    const std::string_view function = tables.text(frame.function);
    place.gives_cpu_up = place.gives_cpu_up || (snapshot::is_libc(tables.text(frame.file)) &&
                                                bare_name(function) == "sched_yield");
    if (const DeviceCall* call = find_device_call(function)) {
      place.call = call;
      place.index = i;
      return place;
    }
  }
  const auto entry = entry_of_driver(frames, tables);
  if (!entry) {
    return std::nullopt;
  }
  place.index = *entry;
  return place;
}

// Compares functions from the call outwards.
bool same_caller(const Place& one, const Place& other, const Tables& tables) {
  const auto from = [](const Place& place) {
    return place.frames->begin() + static_cast<std::ptrdiff_t>(place.index);
  };
  // In a driver without names, any address may be the entry point.
  const std::ptrdiff_t skip = one.call == nullptr ? 1 : 0;
  return one.call == other.call && tables.same_functions({from(one) + skip, one.frames->end()},
                                                         {from(other) + skip, other.frames->end()});
}

// Returns whether the thread is deep inside one activation of the driver's call in both samples:
// the same functions, at the same instructions, from the entry inwards, have not returned. Below
// these functions it is still in the driver (HIP's runtime calls ROCr's) or in the C library, where
// it reads the clock, but not in a compiler that the driver has loaded. A thread that makes short
// calls one after the other is found at different depths.
bool polls_inside(const Place& one, const Place& other, const Tables& tables) {
  const StringId driver = tables.frame((*one.frames)[one.index]).file;
  const auto strays = [&](const Place& place) {
    return std::any_of(place.frames->begin(),
                       place.frames->begin() + static_cast<std::ptrdiff_t>(place.index),
                       [&](FrameId id) {
                         const Frame& frame = tables.frame(id);
                         return frame.file != driver && !is_driver_frame(frame, tables) &&
                                !snapshot::is_libc(tables.text(frame.file));
                       });
  };
  std::size_t held = 0;
  while (held <= std::min(one.index, other.index) &&
         (*one.frames)[one.index - held] == (*other.frames)[other.index - held]) {
    ++held;
  }
  return held >= kLeastHeld && !strays(one) && !strays(other);
}

// What two or more samples of the thread have in common.
struct Stay {
  bool stands = false;        // in the same call, from the same place, in every sample
  bool gives_cpu_up = false;  // and in sched_yield(), at least once
  bool polls = false;         // in one activation of the call, whose inner functions do not return
};

Stay stay_of(const ThreadCapture& thread, const Place& last, const Tables& tables) {
  Stay stay;
  stay.stands = thread.samples.size() >= 2;
  stay.polls = stay.stands;
  for (const ThreadSample& sample : thread.samples) {
    const auto place = place_of(sample, tables);
    stay.stands = stay.stands && place && same_caller(*place, last, tables);
    stay.gives_cpu_up = stay.gives_cpu_up || (place && place->gives_cpu_up);
    stay.polls = stay.polls && place && polls_inside(*place, last, tables);
  }
  return stay;
}

bool is_asleep(const ThreadCapture& thread) {
  const char state = thread.samples.back().state;
  return state == 'S' || state == 'D';
}

bool waits_at(const ThreadCapture& thread, const Place& place, const Tables& tables) {
  if (place.call != nullptr && place.call->kind == DeviceCallKind::kWaits) {
    return true;
  }
  const Stay stay = stay_of(thread, place, tables);
  if (place.call != nullptr && place.call->kind == DeviceCallKind::kPolls) {
    return stay.stands;
  }
  if (is_asleep(thread)) {
    return true;
  }
  return stay.stands && (place.call == nullptr || stay.gives_cpu_up || stay.polls);
}

// Returns whether the other side of the wait is still unknown.
bool is_open(const ProcessCapture& process, const Wait& wait, const Tables& tables) {
  switch (wait.on) {
    case WaitOn::kNothing:
    case WaitOn::kUnknown:
    case WaitOn::kDevice:
      return true;
    case WaitOn::kLock:
      return wait.holder_tid == 0 && wait.holder_pid == 0;
    case WaitOn::kPipe:  // drivers wake their own threads by pipes
    case WaitOn::kSocket:
      return tables.text(wait.rare->peer).empty() &&
             (wait.holder_pid == 0 || wait.holder_pid == process.pid);
    default:
      return false;
  }
}

// Returns the Python function in which the thread waits, for threads without native frames.
const Frame* python_place(const ThreadCapture& thread, const Tables& tables) {
  const std::vector<const Frame*> frames = python_frames(thread, tables);
  return !frames.empty() &&
                 any_frame_matches(std::span(frames).first(1), python_device_calls(), tables)
             ? frames.front()
             : nullptr;
}

void set_device(std::string detail, Tables& tables, Wait& wait) {
  // The driver sleeps on its own files; only a device file identifies the device.
  const std::string path(tables.text(wait.path));
  if (wait.on != WaitOn::kDevice || !path.starts_with("/dev/")) {
    wait.path = {};
    wait.fd = -1;
  }
  if (const std::string_view words = tables.text(wait.detail); !words.empty()) {
    detail += "; " + std::string(words);
  }
  wait.on = WaitOn::kDevice;
  wait.inferred = true;
  wait.how = WaitHow::kDescribed;
  wait.lock = {};
  wait.rare.edit().awaited.clear();
  wait.rare.edit().awaited_count = 0;
  wait.rare.edit().own_wakers = false;
  wait.holder_pid = 0;
  wait.holder_tid = 0;
  wait.holder_alive = snapshot::Known::kUnknown;
  wait.detail = tables.string(detail);
}

}  // namespace

void name_device_wait(const ProcessCapture& process,
                      const ThreadCapture& thread,
                      Tables& tables,
                      Wait& wait) {
  if (thread.samples.empty() || !is_open(process, wait, tables)) {
    return;
  }
  const auto place = place_of(thread.samples.back(), tables);
  if (place && waits_at(thread, *place, tables)) {
    const Frame& frame = tables.frame((*place->frames)[place->index]);
    const std::string file(base_name(tables.text(frame.file)));
    set_device(place->call == nullptr ? "waits for the device in " + file
                                      : "waits for the device in " +
                                            std::string(place->call->function) + "() of " + file,
               tables, wait);
    return;
  }
  const Frame* python = place ? nullptr : python_place(thread, tables);
  if (python != nullptr) {
    set_device("waits for the device in " + std::string(tables.text(python->function)) + "() of " +
                   std::string(base_name(tables.text(python->file))),
               tables, wait);
    return;
  }
  const auto asked = snapshot::asked_in_loop(thread, tables);
  if (asked && asked->on == snapshot::PollOn::kDevice) {
    set_device(
        "asks again and again by " + std::string(asked->by.name) + "() whether the device is done",
        tables, wait);
  }
}

}  // namespace oddrank::waits
