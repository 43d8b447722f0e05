#include "aggregate/view/python_waits.h"

#include <algorithm>
#include <array>
#include <string>

namespace oddrank::aggregate {
namespace {

using snapshot::FrameId;
using snapshot::FrameKind;

struct WaitPattern {
  std::string_view file;
  std::string_view function;  // without its class; "" = any
  std::string_view words;
};

constexpr std::string_view kFuture = "waits for a future (concurrent.futures)";
constexpr std::string_view kExecutorEnd = "waits for an executor to end (concurrent.futures)";
constexpr std::string_view kPool = "waits for a multiprocessing pool";
constexpr std::string_view kConnection = "waits for a multiprocessing connection";
constexpr std::string_view kCondition = "waits for a threading.Condition";
constexpr std::string_view kEvent = "waits for a threading.Event";
constexpr std::string_view kBarrier = "waits at a threading.Barrier";

constexpr auto kWaits = std::to_array<WaitPattern>({
    {"/asyncio/base_events.py", "_run_once", "waits in asyncio's event loop"},

    {"/concurrent/futures/_base.py", "result", kFuture},
    {"/concurrent/futures/_base.py", "exception", kFuture},
    {"/concurrent/futures/_base.py", "wait", kFuture},
    {"/concurrent/futures/_base.py", "as_completed", kFuture},
    {"/concurrent/futures/_base.py", "result_iterator", kFuture},
    {"/concurrent/futures/process.py", "_chain_from_iterable_of_lists", kFuture},
    {"/concurrent/futures/_base.py", "__exit__", kExecutorEnd},
    {"/concurrent/futures/thread.py", "shutdown", kExecutorEnd},
    {"/concurrent/futures/process.py", "shutdown", kExecutorEnd},
    {"/concurrent/futures/thread.py", "_worker", "idle executor thread (concurrent.futures)"},
    {"/concurrent/futures/process.py", "_process_worker",
     "idle executor process (concurrent.futures)"},

    {"/multiprocessing/process.py", "join", "joins a child process (multiprocessing)"},
    {"/multiprocessing/pool.py", "get", kPool},
    {"/multiprocessing/pool.py", "wait", kPool},
    {"/multiprocessing/pool.py", "next", kPool},
    {"/multiprocessing/pool.py", "join", kPool},
    {"/multiprocessing/pool.py", "worker", "idle worker of a multiprocessing pool"},
    {"/multiprocessing/queues.py", "get", "waits for a multiprocessing queue"},
    {"/multiprocessing/queues.py", "put", "waits for room in a multiprocessing queue"},
    {"/multiprocessing/queues.py", "join", "waits for a multiprocessing queue to be worked off"},
    {"/multiprocessing/synchronize.py", "", "waits for a multiprocessing lock"},
    {"/multiprocessing/managers.py", "_callmethod", "waits for a multiprocessing manager"},
    {"/multiprocessing/connection.py", "accept", "waits for a multiprocessing client"},
    {"/multiprocessing/connection.py", "recv", kConnection},
    {"/multiprocessing/connection.py", "recv_bytes", kConnection},
    {"/multiprocessing/connection.py", "poll", kConnection},
    {"/multiprocessing/connection.py", "wait", kConnection},

    {"/queue.py", "get", "waits for an item of a queue.Queue"},
    {"/queue.py", "put", "waits for room in a queue.Queue"},
    {"/queue.py", "join", "waits for a queue.Queue to be worked off"},
    {"/subprocess.py", "wait", "waits for a subprocess"},
    {"/subprocess.py", "communicate", "waits for a subprocess"},
    {"/threading.py", "join", "joins a thread"},
    {"/threading.py", "start", "waits for a new thread to start"},
    {"/threading.py", "acquire", "waits for a threading.Semaphore"},
    {"/threading.py", "_wait", kBarrier},
    {"/threading.py", "wait_for", kCondition},
    {"/threading.py", "wait", kCondition},
});

// Further files whose functions do nothing but wait, and are called for it by those above. A frame
// of any other file ends the search: beyond it, the library is no longer what waits.
constexpr auto kHelpers = std::to_array<std::string_view>({
    "/selectors.py",
    "/asyncio/runners.py",
    "/asyncio/unix_events.py",
    "/multiprocessing/popen_fork.py",
    "/multiprocessing/popen_forkserver.py",
    "/multiprocessing/popen_spawn_posix.py",
});

bool is_waiting_file(std::string_view file) {
  const auto is_end = [file](std::string_view end) { return file.ends_with(end); };
  return std::ranges::any_of(kHelpers, is_end) ||
         std::ranges::any_of(kWaits, is_end, &WaitPattern::file);
}

// Returns whether the file is of the standard library: a program or a package may have a queue.py
// of its own.
bool is_standard(std::string_view file) {
  return file.find("/lib/python3") != std::string_view::npos &&
         file.find("/site-packages/") == std::string_view::npos &&
         file.find("/dist-packages/") == std::string_view::npos;
}

const WaitPattern* find_wait(std::string_view file, std::string_view name) {
  const std::string_view function = name.substr(name.rfind('.') + 1);  // qualified from 3.11 on
  const auto found = std::ranges::find_if(kWaits, [&](const WaitPattern& wait) {
    return file.ends_with(wait.file) && (wait.function.empty() || wait.function == function);
  });
  return found == kWaits.end() ? nullptr : &*found;
}

// Names have no class up to Python 3.10: a plain wait() is identified by the function that it
// calls. The wait() of events and barriers calls that of a condition.
std::string_view words_around(std::string_view inner, const WaitPattern& wait) {
  if (wait.file != "/threading.py" || wait.function != "wait" || inner.empty()) {
    return wait.words;
  }
  return inner == kBarrier ? kBarrier : kEvent;
}

}  // namespace

std::string_view python_wait_words(FrameModel& model, const snapshot::ThreadSample& sample) {
  std::string_view words;
  for (const FrameId id : model.all_frames(sample)) {
    const snapshot::Frame& frame = model.tables().frame(id);
    if (frame.kind != FrameKind::kPython) {
      continue;
    }
    const std::string_view file = model.tables().text(frame.file);
    if (!is_waiting_file(file) || !is_standard(file)) {
      break;
    }
    // The outermost of these frames is the function that the program called.
    if (const WaitPattern* wait = find_wait(file, model.tables().text(frame.function))) {
      words = words_around(words, *wait);
    }
  }
  return words;
}

}  // namespace oddrank::aggregate
