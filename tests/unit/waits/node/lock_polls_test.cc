#include "waits/node/lock_polls.h"

#include <initializer_list>
#include <string>

#include "snapshot/capture.h"
#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

using snapshot::FrameKind;

struct Polling {
  snapshot::Tables tables;
  snapshot::ThreadCapture thread;
  snapshot::Stack stack;

  Polling() {
    thread.has_python = true;
    thread.wait.syscall_name = tables.string("clock_nanosleep");
  }

  // Adds a frame, innermost first.
  Polling& frame(FrameKind kind, std::string_view function, std::string_view file) {
    snapshot::Frame frame;
    frame.kind = kind;
    frame.function = tables.string(function);
    frame.file = tables.string(file);
    stack.frames.push_back(tables.frame(frame));
    return *this;
  }
  Polling& python(std::string_view function) {
    return frame(FrameKind::kPython, function, "/job/train.py");
  }
  // Puts the last frame in a loop.
  Polling& loop(std::initializer_list<std::string_view> calls, std::string_view object = "") {
    snapshot::PythonLoop& loop = thread.loops.emplace_back();
    loop.frame = static_cast<std::uint32_t>(stack.frames.size() - 1);
    for (const std::string_view call : calls) {
      loop.calls.push_back({tables.string(call), tables.string(object)});
    }
    return *this;
  }

  std::optional<LockPoll> poll() {
    thread.samples = snapshot::SampleList(1, {});
    thread.samples.edit(0).stack = tables.stack(stack);
    return lock_poll_of(thread, tables);
  }
};

TEST_CASE("a loop that tries for a lock and pauses") {
  const auto poll = Polling().python("take").loop({"fcntl.flock", "time.sleep"}).poll();
  REQUIRE(poll);
  CHECK(poll->flock);
  CHECK_FALSE(poll->posix);
  CHECK(Polling().python("take").loop({"fcntl.lockf", "time.sleep"}).poll()->posix);
  CHECK(
      Polling().python("take").loop({"sqlite3.Connection.execute", "time.sleep"}).poll()->database);
  CHECK(Polling().python("take").loop({"lib.Lock.acquire", "time.sleep"}).poll()->by_name_only);
  CHECK(Polling().python("take").loop({"acquire", "time.sleep"}).poll()->by_name_only);
}

TEST_CASE("a lock's own calls are better evidence than checks of its file") {
  Polling polling;
  const auto poll =
      polling.python("take").loop({"_io.open", "fcntl.flock", "time.sleep"}, "x.lock").poll();
  REQUIRE(poll);
  CHECK(poll->flock);
  CHECK_FALSE(poll->existence);
  CHECK(poll->objects.front() == "x.lock");
  CHECK(Polling().python("take").loop({"os.mkdir", "time.sleep"}, "x.lock").poll()->existence);
}

TEST_CASE("loops that only rest, do not pause, fetch rows or are further out try no lock") {
  Polling awake;
  awake.thread.wait.syscall_name = {};
  CHECK_FALSE(awake.python("take").loop({"fcntl.flock"}).poll());
  CHECK_FALSE(Polling().python("take").loop({"time.sleep"}).poll());
  CHECK_FALSE(Polling().python("take").loop({"queue.Queue.empty", "time.sleep"}).poll());
  CHECK_FALSE(Polling()
                  .python("take")
                  .loop({"sqlite3.Cursor.execute", "sqlite3.Cursor.fetchone", "time.sleep"})
                  .poll());
  CHECK_FALSE(Polling().python("take").poll());
  CHECK_FALSE(
      Polling().python("in").python("to").python("run").loop({"fcntl.flock", "sleep"}).poll());
  CHECK(
      Polling().python("rest").loop({"sleep"}).python("run").loop({"fcntl.flock", "sleep"}).poll());
}

TEST_CASE("a wait that is known is no poll") {
  Polling polling;
  polling.thread.wait.on = snapshot::WaitOn::kSocket;
  CHECK_FALSE(polling.python("take").loop({"flock", "sleep"}).poll());
  Polling held;
  held.thread.wait.holder_pid = 5;
  CHECK_FALSE(held.python("take").loop({"flock", "sleep"}).poll());
}

TEST_CASE("the busy handler of SQLite, also without its names") {
  CHECK(Polling()
            .frame(FrameKind::kNative, "sqliteDefaultBusyCallback", "/job/run")
            .poll()
            ->database);
  CHECK(Polling()
            .frame(FrameKind::kNative, "clock_nanosleep", "/lib/libc.so.6")
            .frame(FrameKind::kNative, "", "/lib/libsqlite3.so.0.8.6")
            .python("take")
            .poll()
            ->database);
  Polling awake;
  awake.thread.wait.syscall_name = {};
  CHECK_FALSE(awake.frame(FrameKind::kNative, "", "/lib/libsqlite3.so.0").python("take").poll());
  CHECK_FALSE(
      Polling().python("sleep").frame(FrameKind::kNative, "", "/lib/libsqlite3.so.0").poll());
}

TEST_CASE("libraries that try for a lock in functions of their own") {
  const auto poll =
      Polling()
          .frame(FrameKind::kPython, "LockBase._timeout_generator",
                 "/site-packages/portalocker/utils.py")
          .frame(FrameKind::kPython, "Lock.acquire", "/site-packages/portalocker/utils.py")
          .poll();
  REQUIRE(poll);
  CHECK(poll->flock);
  CHECK(poll->posix);
}

TEST_CASE("names of lock files") {
  CHECK(is_lock_name("/data/x.lock"));
  CHECK(is_lock_name("/data/.LOCK_2"));
  CHECK(is_lock_name("x.lck"));
  CHECK(is_lock_name("/run/x.pid"));
  CHECK_FALSE(is_lock_name("/lock/x"));
  CHECK_FALSE(is_lock_name("/data/blocks.pt"));
  CHECK_FALSE(is_lock_name("clock"));
  CHECK_FALSE(is_lock_name(""));
}

}  // namespace
}  // namespace oddrank::waits
