// Names are from CPython's Lib/threading.py and Lib/queue.py, the same in 3.8 to 3.15.
#include "waits/python/polled_objects.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/strings.h"
#include "snapshot/loops/named_loop.h"
#include "waits/frame_pattern.h"
#include "waits/python/frame_values.h"
#include "waits/python/object_providers.h"
#include "waits/python/python_futures.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonSample;
using cpython::RawFrame;
using cpython::SampledThread;
using snapshot::PollOn;
using snapshot::WaitHow;
using snapshot::WaitOn;

constexpr std::size_t kMaxPolledOwners = 64;    // whose attributes are read, of one frame
constexpr std::size_t kMaxPolledObjects = 512;  // of one frame

// What a thread asks for in a loop, and the place of the loop's frame among its Python frames.
struct Asked {
  PollOn on = PollOn::kUnknown;
  std::string call;
  std::size_t frame = 0;
};

std::optional<Asked> asked_by(const snapshot::ThreadCapture& thread,
                              const ThreadWait& wait,
                              const snapshot::Tables& tables) {
  const bool sleeps =
      wait.on == WaitOn::kUnknown && wait.syscall_name.find("nanosleep") != std::string::npos;
  if (!thread.has_python || !sleeps || thread.samples.empty()) {
    return std::nullopt;
  }
  for (const snapshot::PythonLoop& loop : thread.loops) {
    const snapshot::NamedLoop named = snapshot::named_loop(loop, tables);
    const auto asks = snapshot::find_asking_call(named);
    // Locks that are tried are left out.
    if (asks && snapshot::is_of_own_process(asks->on) && asks->on != PollOn::kLock) {
      return Asked{asks->on, std::string(named.calls[asks->call].name),
                   snapshot::python_frames_inside(loop, thread.samples.back(), tables)};
    }
    if (!snapshot::only_rests(named)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// The thread that can change a polled object.
struct Lead {
  bool open = false;  // an object of the polled kind that does not yet have the state that the loop
                      // waits for
  const SampledThread* thread = nullptr;
};

class PolledObjects {
 public:
  explicit PolledObjects(PythonSample& python) : python_(python), values_(python) {}

  // Returns the only thread that the objects of the polled kind in the frame's variables lead to;
  // null if one of them may be the polled one and leads to no thread.
  const SampledThread* find(const SampledThread& waiter, const RawFrame& frame, const Asked& asked);

 private:
  bool has(Addr object, std::string_view attribute) {
    return cpython::read_attribute(python_.memory(), object, attribute) != Addr{};
  }
  std::set<Addr> objects_of(const RawFrame& frame);
  Lead lead_of(const SampledThread& waiter, Addr object, const Asked& asked);
  Lead of_thread_object(Addr object);
  Lead of_future(const SampledThread& waiter, Addr object);
  Lead of_event(const SampledThread& waiter, Addr object);

  PythonSample& python_;
  FrameValues values_;
  ObjectProviders providers_{python_, values_};
  PythonFutures futures_{python_, values_};
};

std::set<Addr> PolledObjects::objects_of(const RawFrame& frame) {
  const std::vector<Addr> variables = cpython::read_local_values(python_.memory(), frame);
  std::set<Addr> objects(variables.begin(), variables.end());
  for (std::size_t i = 0; i < std::min(variables.size(), kMaxPolledOwners); ++i) {
    for (const auto& item : cpython::read_attributes(python_.memory(), variables[i])) {
      if (objects.size() < kMaxPolledObjects) {
        objects.insert(item.value);
      }
    }
  }
  return objects;
}

// The kernel does not soon reuse a thread's number, unlike Python's `_ident` (an address): an
// object of a thread that has ended leads to no thread. A process of multiprocessing may be polled
// in the same way.
Lead PolledObjects::of_thread_object(Addr object) {
  if (!has(object, "_started")) {
    return {has(object, "_popen"), nullptr};
  }
  const auto number = cpython::read_int(
      python_.memory(), cpython::read_attribute(python_.memory(), object, "_native_id"));
  const bool known = number && *number > 0 && *number <= INT32_MAX;
  const auto* thread = known ? python_.by_tid(static_cast<pid_t>(*number)) : nullptr;
  return {thread != nullptr, thread};
}

Lead PolledObjects::of_future(const SampledThread& waiter, Addr object) {
  const auto state = cpython::read_string(
      python_.memory(), cpython::read_attribute(python_.memory(), object, "_state"));
  if (!state || !has(object, "_waiters")) {
    return {};
  }
  const bool open = state->utf8 == "PENDING" || state->utf8 == "RUNNING";
  return {open, open ? futures_.worker_on(waiter, object) : nullptr};
}

Lead PolledObjects::of_event(const SampledThread& waiter, Addr object) {
  const Addr flag = cpython::read_attribute(python_.memory(), object, "_flag");
  const bool open = flag != Addr{} && has(object, "_cond") &&
                    cpython::read_int(python_.memory(), flag).value_or(0) == 0;
  return {open, open ? providers_.find(waiter, object) : nullptr};
}

Lead PolledObjects::lead_of(const SampledThread& waiter, Addr object, const Asked& asked) {
  if (asked.on == PollOn::kEvent) {
    return of_event(waiter, object);
  }
  if (asked.on == PollOn::kQueue) {
    const bool is_queue = has(object, "unfinished_tasks");
    return {is_queue, is_queue ? providers_.find(waiter, object) : nullptr};
  }
  return asked.call == "is_alive" ? of_thread_object(object) : of_future(waiter, object);
}

const SampledThread* PolledObjects::find(const SampledThread& waiter,
                                         const RawFrame& frame,
                                         const Asked& asked) {
  const SampledThread* found = nullptr;
  for (const Addr object : objects_of(frame)) {
    const Lead lead = lead_of(waiter, object, asked);
    if (!lead.open || lead.thread == &waiter) {
      continue;
    }
    if (lead.thread == nullptr || (found != nullptr && lead.thread != found)) {
      return nullptr;
    }
    found = lead.thread;
  }
  return found;
}

}  // namespace

void read_polled_objects(PythonWaits& all) {
  PolledObjects objects(all.python);
  for (std::size_t i = 0; i < all.waits.size(); ++i) {
    const auto asked = asked_by(all.process.threads[i], all.waits[i], all.tables);
    const SampledThread* waiter = asked ? all.thread(i) : nullptr;
    if (waiter == nullptr || asked->frame >= waiter->frames.size()) {
      continue;
    }
    const SampledThread* awaited = objects.find(*waiter, waiter->frames[asked->frame], *asked);
    const auto holder =
        std::find_if(all.states.begin(), all.states.end(), [awaited](const auto& each) {
          return awaited != nullptr && each.target_tid == awaited->target_tid;
        });
    if (holder == all.states.end()) {
      continue;
    }
    all.waits[i].on = WaitOn::kThread;
    all.waits[i].holder_pid = all.process.pid;
    all.waits[i].holder_tid = holder->tid;
    all.waits[i].holder_alive = snapshot::Known::kYes;
    all.waits[i].inferred = true;
    // It is not a circle just because another thread also has the event or queue.
    const bool ends = asked->on == PollOn::kThread;
    all.waits[i].how = ends ? WaitHow::kDescribed : WaitHow::kObject;
    all.waits[i].detail = ends ? "polls until thread " + std::to_string(holder->tid) +
                                     " has ended its work (by " + asked->call + ")"
                               : "";
  }
}

}  // namespace oddrank::waits
