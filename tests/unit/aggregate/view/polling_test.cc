#include "aggregate/view/polling.h"

#include <string>
#include <vector>

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {
namespace {

using tests::Frames;
using tests::py;

struct Call {
  std::string name;
  std::string object;
  bool ends = false;
};

struct Loop {
  std::vector<Call> calls;
  bool iterates = false;
  std::uint32_t frame = 0;
};

const Frames kUser = {py("train", "/home/u/train.py", 7)};
const Frames kSleep = {tests::native("clock_nanosleep", "/lib/libc.so.6")};

struct Told {
  std::optional<Poll> poll;
  std::string words() const {
    return poll ? std::string(poll_noun(poll->on)) + " by " + poll->what +
                      (poll->object.empty() ? "" : " " + poll->object)
                : "";
  }
};

std::string polls(const Frames& frames,
                  const std::vector<Loop>& loops,
                  const tests::WaitSpec& wait = {},
                  const std::string& key = "",
                  std::uint64_t switch_step = 3) {
  tests::CaptureBuilder job({"n0"}, 1);
  tests::ThreadSpec spec;
  spec.frames = frames;
  spec.wait = wait;
  spec.switch_step = switch_step;
  snapshot::ThreadCapture& thread = job.thread(job.rank(0, "n0", 10), spec);
  snapshot::Tables& tables = job.capture.tables;
  thread.wait.rare.edit().key = tables.string(key);
  for (const Loop& loop : loops) {
    snapshot::PythonLoop& row = thread.loops.emplace_back();
    row.frame = loop.frame;
    row.iterates = loop.iterates;
    for (const Call& call : loop.calls) {
      row.calls.push_back({tables.string(call.name), tables.string(call.object), false, call.ends});
    }
  }
  FrameModel model(tables);
  const JobView view(job.capture, model);
  return Told{poll_of(view, job.capture.processes.front().threads.front())}.words();
}

// Returns it for a loop that is asleep in its own frame.
std::string resting(const std::vector<Call>& calls, bool iterates = false) {
  return polls(kSleep + kUser, {{calls, iterates, 1}});
}

}  // namespace

TEST_CASE("what an open file is says nothing that could change") {
  CHECK(resting({{"_io.TextIOWrapper.isatty", ""}, {"time.sleep", ""}}).empty());
  CHECK(resting({{"_io.TextIOWrapper.fileno", ""}, {"time.sleep", ""}}).empty());
}

TEST_CASE("a loop that only rests does nothing for others if it never ends") {
  const auto rests = [](const char* call, bool endless) {
    tests::CaptureBuilder job({"n0"}, 1);
    tests::ThreadSpec spec;
    spec.frames = kSleep + kUser;
    snapshot::ThreadCapture& thread = job.thread(job.rank(0, "n0", 10), spec);
    snapshot::PythonLoop& row = thread.loops.emplace_back();
    row.frame = 1;
    row.endless = endless;
    row.calls.push_back({job.capture.tables.string(call), {}, false, false});
    FrameModel model(job.capture.tables);
    return rests_for_good(JobView(job.capture, model), thread);
  };
  CHECK(rests("time.sleep", true));
  CHECK_FALSE(rests("time.sleep", false));
  CHECK_FALSE(rests("queue.Queue.put", true));
}

TEST_CASE("a loop over a connection, which calls nothing that waits, does not only rest") {
  const auto rests = [](snapshot::WaitOn on) {
    tests::CaptureBuilder job({"n0"}, 1);
    tests::ThreadSpec spec = tests::waiting_on(on, "socket:[9]");
    spec.frames = kSleep + kUser;
    snapshot::ThreadCapture& thread = job.thread(job.rank(0, "n0", 10), spec);
    snapshot::PythonLoop& row = thread.loops.emplace_back();
    row.frame = 1;
    row.iterates = true;
    row.calls.push_back({job.capture.tables.string("builtins.print"), {}, false, false});
    FrameModel model(job.capture.tables);
    return rests_in_loop(JobView(job.capture, model), thread);
  };
  CHECK(rests(snapshot::WaitOn::kUnknown));
  CHECK_FALSE(rests(snapshot::WaitOn::kSocket));
  CHECK_FALSE(rests(snapshot::WaitOn::kPipe));
}

TEST_CASE("what would end the loop may not have been reached") {
  const Call open = {"builtins.open", "/d/r8", true};
  const Call sleep = {"time.sleep", ""};
  // try: return json.load(open(path)) except OSError: time.sleep(1)
  CHECK(resting({open, {"json.load", "", true}, sleep}) == "a file by open /d/r8");
  // In each turn the file is opened, and something is done with it.
  CHECK(resting({{"builtins.open", "/d/r8"}, {"json.load", ""}, sleep}) ==
        "something that is not known by load");
  // Whatever it asks first may be what raises.
  CHECK(resting({{"client.fetch", "", true}, open, sleep}) ==
        "something that is not known by fetch");
  CHECK(resting({open, {"fcntl.flock", "", true}, sleep}) == "a lock file by flock");
}

TEST_CASE("what a loop asks for is known by the types and modules of its calls") {
  CHECK(resting({{"posixpath.exists", "/d/ready"}, {"time.sleep", ""}}) ==
        "a file by exists /d/ready");
  CHECK(resting({{"torch._C._distributed_c10d.Work.is_completed", ""}, {"time.sleep", ""}}) ==
        "communication that was begun by is_completed");
  CHECK(resting({{"torch._C._distributed_c10d.TCPStore.check", "worker/3"}, {"time.sleep", ""}}) ==
        "a key of a store by check worker/3");
  CHECK(resting({{"queue.Queue.get_nowait", ""}, {"time.sleep", ""}}) == "a queue by get_nowait");
  CHECK(resting({{"threading.Event.is_set", ""}, {"time.sleep", ""}}) == "an event by is_set");
  CHECK(resting({{"_thread.lock.locked", ""}, {"time.sleep", ""}}) == "a lock by locked");
  CHECK(resting({{"fcntl.flock", ""}, {"time.sleep", ""}}) == "a lock file by flock");
  CHECK(resting({{"threading.Thread.is_alive", ""}, {"builtins.any", ""}, {"time.sleep", ""}}) ==
        "a thread or task by is_alive");
  // Clocks, logs and errors at the deadline ask for nothing.
  CHECK(resting({{"time.monotonic", ""},
                 {"posixpath.exists", "/x"},
                 {"builtins.TimeoutError", ""},
                 {"logging.Logger.info", "still"},
                 {"time.sleep", ""}}) == "a file by exists /x");
  CHECK(resting({{"posixpath.exists", "/x"}, {"time.sleep", ""}}, true) == "a file by exists /x");
}

TEST_CASE("a call of which only the name is known asks for something unknown, whatever its name") {
  for (const std::string name :
       {"exists", "is_completed", "get", "ready", "train_step", "f17", ""}) {
    INFO(name);
    const std::string unknown = "something that is not known by " + name;
    CHECK(resting({{name, ""}, {"sleep", ""}}) == unknown);
    CHECK(resting({{"posixpath.exists", ""}, {name, ""}, {"time.sleep", ""}}) == unknown);
  }
  CHECK(resting({{"report", ""}, {"probe", "/x"}, {"sleep", ""}}) ==
        "something that is not known by probe /x");
  // A type of the program's own, which has the name of a known one.
  CHECK(resting({{"__main__.Event.is_set", ""}, {"time.sleep", ""}}) ==
        "something that is not known by is_set");
}

TEST_CASE("a loop that only rests, or does not rest, is no poll") {
  CHECK(resting({{"sleep", ""}}).empty());
  CHECK(resting({{"time.sleep", ""}, {"builtins.dict.get", "lr"}}).empty());
  CHECK(resting({}).empty());
  CHECK(resting({{"monotonic", ""}, {"sleep", ""}, {"print", "."}}).empty());
  CHECK(polls(kUser, {{{{"exists", "/x"}, {"sleep", ""}}, false, 0}}).empty());
  // What is asked for is known.
  CHECK(polls(kUser, {{{{"posixpath.exists", "/x"}}, false, 0}}) == "a file by exists /x");
  CHECK(polls(kUser, {{{{"posixpath.exists", "/x"}}, true, 0}}).empty());
  CHECK(polls(kUser, {{{{"_io.TextIOWrapper.readline", ""}}, false, 0}}).empty());
  // A wait without a time limit within the loop: queue.Queue.get().
  tests::WaitSpec queue;
  queue.on = snapshot::WaitOn::kLock;
  queue.how = snapshot::WaitHow::kPythonLock;
  const std::vector<Loop> get = {{{{"threading.Condition.wait", ""}}, false, 0}};
  CHECK(polls(kUser, get, queue).empty());
  queue.limited = true;
  CHECK(polls(kUser, get, queue) == "a lock by wait");
  // One long sleep.
  CHECK(polls(kSleep + kUser, {{{{"exists", "/x"}, {"sleep", ""}}, false, 1}}, {}, "", 0).empty());
}

TEST_CASE("a loop that only pauses may be part of one that polls, in the same function") {
  const Loop pause = {{{"sleep", ""}}, true, 1};
  CHECK(polls(kSleep + kUser, {pause, {{{"probe", "/x"}, {"sleep", ""}}, false, 1}}) ==
        "something that is not known by probe /x");
  CHECK(
      polls(kSleep + kUser + kUser, {pause, {{{"probe", "/x"}, {"sleep", ""}}, false, 2}}).empty());
}

TEST_CASE("libraries' own loops: lock files, stores, databases") {
  const std::string site = "/usr/lib/python3/site-packages/";
  tests::WaitSpec lock;
  lock.path = "/d/train.lock";
  CHECK(polls(Frames{py("BaseFileLock.acquire", site + "filelock/_api.py", 300)} + kUser, {},
              lock) == "a lock file by acquire /d/train.lock");
  CHECK(polls(Frames{py("FileBaton.wait", site + "torch/utils/file_baton.py", 49)} + kUser, {},
              lock) == "a lock file by wait /d/train.lock");
  CHECK(polls(Frames{tests::native("c10d::FileStore::get(std::string const&)",
                                   "/lib/libtorch_cpu.so")} +
                  kUser,
              {}, {}, "worker/3") == "a key of a store by get worker/3");
  tests::WaitSpec sleep;
  sleep.syscall = "clock_nanosleep";
  const Frames database = {tests::native("clock_nanosleep", "/lib/libc.so.6"),
                           tests::native("", "/usr/lib/libsqlite3.so.0.8.6")};
  CHECK(polls(database + kUser, {}, sleep) == "a database's lock by execute");
  sleep.syscall = "pread64";
  CHECK(polls(database + kUser, {}, sleep).empty());
}

TEST_CASE("a rank that stays in a loop that only rests does not move, unless it counts") {
  const auto moves = [](const std::vector<Call>& calls, bool counts) {
    tests::CaptureBuilder job({"n0"}, 1);
    tests::ThreadSpec spec;
    spec.frames = kUser;
    spec.cpu_step_us = 60'000;
    snapshot::ThreadCapture& thread = job.thread(job.rank(0, "n0", 10), spec);
    thread.samples.edit_back().locals_changed = counts;
    snapshot::PythonLoop& row = thread.loops.emplace_back();
    for (const Call& call : calls) {
      row.calls.push_back({job.capture.tables.string(call.name), {}});
    }
    FrameModel model(job.capture.tables);
    return !JobView(job.capture, model).ranks()[0].motion.still();
  };
  CHECK_FALSE(moves({{"sleep", ""}}, false));  // it looks at memory in between
  CHECK(moves({{"sleep", ""}}, true));
  CHECK(moves({{"sleep", ""}, {"train_step", ""}}, false));
}

TEST_CASE("a rank that wakes to look after its pool moves only if a worker does") {
  struct Worker {
    std::uint64_t cpu_step_us = 0;
    bool further = false;  // its Python functions have other values
  };
  const auto moves = [](const std::vector<Worker>& workers, snapshot::WaitAbout about) {
    tests::CaptureBuilder job({"n0"}, 1);
    tests::ThreadSpec spec;
    spec.frames = kUser;
    spec.cpu_step_us = 60'000;
    job.thread(job.rank(0, "n0", 10), spec).wait.rare.edit().about = about;
    pid_t pid = 11;
    for (const Worker& worker : workers) {
      snapshot::ProcessCapture& process = job.child(10, "n0", pid++);
      spec.cpu_step_us = worker.cpu_step_us;
      job.thread(process, spec).samples.edit_back().locals_changed = worker.further;
    }
    FrameModel model(job.capture.tables);
    return !JobView(job.capture, model).ranks()[0].motion.still();
  };
  constexpr auto kPool = snapshot::WaitAbout::kPool;
  CHECK_FALSE(moves({{}, {}}, kPool));
  CHECK_FALSE(moves({{}, {60'000, false}}, kPool));  // one computes at one place
  CHECK(moves({{}, {60'000, true}}, kPool));
  CHECK(moves({}, kPool));
  CHECK(moves({{}, {}}, snapshot::WaitAbout::kHolder));
}

TEST_CASE("damaged loops are left out") {
  CHECK(polls(kUser, {{{{"exists", "/x"}, {"sleep", ""}}, false, 99}}).empty());
  CHECK(polls({}, {{{{"exists", "/x"}, {"sleep", ""}}, false, 0}}).empty());
}

}  // namespace oddrank::aggregate
