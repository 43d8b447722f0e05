#include "waits/python_phase.h"

#include <algorithm>
#include <array>

#include "waits/worker_pools.h"

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::Tables;

struct Phase {
  FramePattern frame;
  std::string_view words;
};

// Primitives are built of each other: a queue waits in a condition, which waits in a lock. The
// outermost row of an unbroken run counts.
constexpr std::array kPhases = {
    Phase{{"wait", "threading.py"}, "a threading.Condition, which nobody has notified"},
    Phase{{"wait_for", "threading.py"}, "a threading.Condition, which nobody has notified"},
    Phase{{"acquire", "threading.py"}, "a threading.Semaphore, which nobody has released"},
    Phase{{"_wait", "threading.py"}, "a threading.Barrier, at which threads are missing"},
    Phase{{"get", "queue.py"}, "an item of a queue.Queue (get)"},
    Phase{{"put", "queue.py"}, "room in a queue.Queue (put)"},
    Phase{{"join", "queue.py"}, "the items of a queue.Queue being done (join)"},
    Phase{{"result", "concurrent/futures/_base.py"}, "the result of a future"},
    Phase{{"exception", "concurrent/futures/_base.py"}, "the result of a future"},
    Phase{{"wait", "concurrent/futures/_base.py"}, "the results of futures"},
    Phase{{"get", "multiprocessing/pool.py"}, "the result of a pool's task"},
    Phase{{"wait", "multiprocessing/pool.py"}, "the result of a pool's task"},
    Phase{{"__enter__", "multiprocessing/synchronize.py"},
          "a lock of multiprocessing, which processes share"},
};
constexpr std::string_view kEvent = "a threading.Event, which nobody has set";
constexpr FramePattern kWait{"wait", "threading.py"};

}  // namespace

std::string_view python_phase(std::span<const Frame* const> frames, const Tables& tables) {
  std::string_view words;
  std::size_t waits = 0;
  for (const Frame* frame : frames) {
    const auto* phase = std::find_if(kPhases.begin(), kPhases.end(), [&](const Phase& each) {
      return matches(each.frame, *frame, tables);
    });
    if (phase == kPhases.end()) {
      break;
    }
    // Event.wait calls Condition.wait: two frames of one name.
    waits += matches(kWait, *frame, tables) ? 1 : 0;
    words = waits > 1 && matches(kWait, *frame, tables) ? kEvent : phase->words;
  }
  return words;
}

}  // namespace oddrank::waits
