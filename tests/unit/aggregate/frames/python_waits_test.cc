#include "aggregate/words/wait_words.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {
namespace {

using tests::Frames;
using tests::py;

const std::string kLib = "/usr/lib/python3.11/";

Frames in_lock() {
  return {tests::native("__futex_abstimed_wait_common", "/lib/libc.so.6"),
          py("Condition.wait", kLib + "threading.py", 327)};
}

// Returns the report's words for what a rank with these frames does.
std::string phase(const Frames& frames, snapshot::WaitOn on, char state = 'S') {
  tests::CaptureBuilder job({"n0"}, 1);
  tests::ThreadSpec spec;
  spec.frames = frames;
  spec.wait.on = on;
  spec.state = state;
  job.thread(job.rank(0, "n0", 10), spec);
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  return phase_of(view, view.ranks().front());
}

}  // namespace

TEST_CASE("waits in the standard library are named after the call that the program made") {
  using enum snapshot::WaitOn;
  const Frames user = {py("train", "/home/u/train.py", 7)};
  CHECK(phase(in_lock() + Frames{py("Future.result", kLib + "concurrent/futures/_base.py", 451)} +
                  user,
              kLock) == "waits for a future (concurrent.futures) in train (u/train.py:7)");
  CHECK(phase(in_lock() + Frames{py("get", kLib + "queue.py", 171)} + user, kLock) ==
        "waits for an item of a queue.Queue in train (u/train.py:7)");
  CHECK(phase(Frames{tests::native("epoll_wait", "/lib/libc.so.6"),
                     py("EpollSelector.select", kLib + "selectors.py", 468),
                     py("BaseEventLoop._run_once", kLib + "asyncio/base_events.py", 1884),
                     py("BaseEventLoop.run_forever", kLib + "asyncio/base_events.py", 607),
                     py("run", kLib + "asyncio/runners.py", 190)} +
                  user,
              kSocket) == "waits in asyncio's event loop in train (u/train.py:7)");
  CHECK(phase(Frames{tests::native("wait4", "/lib/libc.so.6"),
                     py("Popen.poll", kLib + "multiprocessing/popen_fork.py", 27),
                     py("Popen.wait", kLib + "multiprocessing/popen_fork.py", 43),
                     py("BaseProcess.join", kLib + "multiprocessing/process.py", 149)} +
                  user,
              kChild) == "joins a child process (multiprocessing) in train (u/train.py:7)");
}

TEST_CASE("primitives built on a condition have their own names, even without a class") {
  const auto words = [](const Frames& callers) {
    const std::string text = phase(Frames{py("wait", kLib + "threading.py", 327)} + callers +
                                       Frames{py("f", "/home/u/x.py", 3)},
                                   snapshot::WaitOn::kLock);
    return text.substr(0, text.find(" in f"));
  };
  const std::string threading = kLib + "threading.py";
  CHECK(words({}) == "waits for a threading.Condition");
  CHECK(words({py("wait", threading, 607)}) == "waits for a threading.Event");
  CHECK(words({py("acquire", threading, 450)}) == "waits for a threading.Semaphore");
  CHECK(words({py("wait_for", threading, 350), py("_wait", threading, 710),
               py("wait", threading, 668)}) == "waits at a threading.Barrier");
  const auto outside = [](const Frames& frames) {
    const std::string text =
        phase(frames + Frames{py("f", "/home/u/x.py", 3)}, snapshot::WaitOn::kLock);
    return text.substr(0, text.find(" in f"));
  };
  const std::string processes = kLib + "multiprocessing/synchronize.py";
  CHECK(outside({py("wait", processes, 268), py("_wait", threading, 710),
                 py("wait", threading, 697)}) == "waits at a multiprocessing.Barrier");
  CHECK(outside({py("acquire", kLib + "asyncio/locks.py", 390)}) ==
        "waits for an asyncio lock or semaphore");
}

TEST_CASE("a lock without an owner rests on the library's own evidence") {
  tests::CaptureBuilder job({"n0"}, 1);
  tests::ThreadSpec spec;
  spec.frames = in_lock() + Frames{py("get", kLib + "queue.py", 171)};
  spec.wait.on = snapshot::WaitOn::kLock;
  spec.wait.how = snapshot::WaitHow::kLock;
  spec.wait.limited = true;
  auto& process = job.rank(0, "n0", 10);
  auto& thread = job.thread(process, spec);
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  CHECK(wait_detail(view, process, thread) ==
        "waits for an item of a queue.Queue, with a time limit");
  thread.wait.rare.edit().notes = job.capture.tables.string("a note");
  CHECK(wait_detail(view, process, thread) ==
        "waits for an item of a queue.Queue, with a time limit; a note");
  thread.wait.holder_tid = 11;
  CHECK(wait_detail(view, process, thread) ==
        "semaphore, condition or join, with a time limit; a note");
}

TEST_CASE("a wait inside a callback is not the library's wait") {
  using enum snapshot::WaitOn;
  // A task that blocks stops the event loop; the program's own frame comes first.
  CHECK(phase({tests::native("read", "/lib/libc.so.6"), py("fetch", "/home/u/io.py", 3),
               py("Handle._run", kLib + "asyncio/events.py", 80),
               py("BaseEventLoop._run_once", kLib + "asyncio/base_events.py", 1919)},
              kPipe) == "waits on a pipe in fetch (u/io.py:3)");
  // The same for a package.
  CHECK(phase({tests::native("read", "/lib/libc.so.6"),
               py("send", "/usr/lib/python3.11/site-packages/x/queue.py", 3),
               py("get", kLib + "queue.py", 171)},
              kPipe)
            .substr(0, 17) == "waits on a pipe i");
  // A module of the program's own that has that name.
  CHECK(phase({py("get", "/home/u/queue.py", 3)}, kLock) ==
        "waits for a lock in get (u/queue.py:3)");
  // A wait that the kernel knows better, and a thread that does not wait at all.
  CHECK(phase(in_lock() + Frames{py("get", kLib + "queue.py", 171)}, kGil).substr(0, 17) ==
        "waits for the GIL");
  CHECK(phase({py("get", kLib + "queue.py", 171)}, kNothing, 'R').substr(0, 4) == "runs");
}

}  // namespace oddrank::aggregate
