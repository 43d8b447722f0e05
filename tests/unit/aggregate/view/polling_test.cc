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
};

struct Loop {
  std::vector<Call> calls;
  bool iterates = false;
  std::uint32_t frame = 0;
};

const Frames kUser = {py("train", "/home/u/train.py", 7)};
const Frames kLibrary = {py("helper", "/usr/lib/python3/site-packages/lib/x.py", 3),
                         py("train", "/home/u/train.py", 7)};

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
                  const std::string& key = "") {
  tests::CaptureBuilder job({"n0"}, 1);
  tests::ThreadSpec spec;
  spec.frames = frames;
  spec.wait = wait;
  snapshot::ThreadCapture& thread = job.thread(job.rank(0, "n0", 10), spec);
  snapshot::Tables& tables = job.capture.tables;
  thread.wait.rare.edit().key = tables.string(key);
  for (const Loop& loop : loops) {
    snapshot::PythonLoop& row = thread.loops.emplace_back();
    row.frame = loop.frame;
    row.iterates = loop.iterates;
    for (const Call& call : loop.calls) {
      row.calls.push_back({tables.string(call.name), tables.string(call.object)});
    }
  }
  FrameModel model(tables);
  const JobView view(job.capture, model);
  return Told{poll_of(view, job.capture.processes.front().threads.front())}.words();
}

std::string user_loop(const std::vector<Call>& calls, bool iterates = false) {
  return polls(kUser, {{calls, iterates, 0}});
}

}  // namespace

TEST_CASE("a loop that checks and pauses is a poll for what it checks") {
  CHECK(user_loop({{"exists", "/d/ready"}, {"sleep", ""}}) == "a file by exists /d/ready");
  CHECK(user_loop({{"is_completed", ""}}) == "communication that was begun by is_completed");
  CHECK(user_loop({{"check", "worker/3"}, {"sleep", ""}}) == "a key of a store by check worker/3");
  CHECK(user_loop({{"get_nowait", ""}, {"sleep", ""}}) == "a queue by get_nowait");
  CHECK(user_loop({{"is_set", ""}, {"sleep", ""}}) == "an event by is_set");
  CHECK(user_loop({{"locked", ""}, {"sleep", ""}}) == "a lock by locked");
  CHECK(user_loop({{"flock", ""}, {"sleep", ""}}) == "a lock file by flock");
  CHECK(user_loop({{"is_alive", ""}, {"any", ""}, {"sleep", ""}}) ==
        "a thread or task by is_alive");
  CHECK(user_loop({{"query", ""}}) == "the device by query");
  // Clocks, logs and errors at the deadline do not count as work.
  CHECK(user_loop({{"monotonic", ""},
                   {"exists", "/x"},
                   {"TimeoutError", ""},
                   {"info", "still"},
                   {"sleep", ""}}) == "a file by exists /x");
  // It gives up after some rounds, but until then it waits.
  CHECK(user_loop({{"exists", "/x"}, {"sleep", ""}}, true) == "a file by exists /x");
  CHECK(user_loop({{"exists", "/x"}, {"check", "k"}, {"sleep", ""}}) ==
        "a key of a store by check k");
}

TEST_CASE("a loop that only sleeps, or works, is no poll") {
  CHECK(user_loop({{"sleep", ""}}).empty());
  CHECK(user_loop({{"sleep", ""}}, true).empty());
  CHECK(user_loop({}).empty());
  CHECK(user_loop({{"monotonic", ""}, {"sleep", ""}, {"print", "."}}).empty());
  CHECK(user_loop({{"exists", "/x"}, {"train_step", ""}, {"sleep", ""}}).empty());
  CHECK(user_loop({{"is_completed", ""}, {"forward", ""}}).empty());
  CHECK(user_loop({{"exists", "/x"}, {"", ""}, {"sleep", ""}}).empty());  // it calls something
  // One file after another, without a rest.
  CHECK(user_loop({{"exists", ""}}, true).empty());
}

TEST_CASE("ambiguous names count only if the loop does nothing else") {
  CHECK(user_loop({{"get", "http://h/ready"}, {"sleep", ""}}) ==
        "a key of a store by get http://h/ready");
  CHECK(user_loop({{"get", "lr"}}).empty());                       // a dict
  CHECK(user_loop({{"get", ""}, {"sleep", ""}}).empty());          // the same
  CHECK(user_loop({{"get", "lr"}, {"sleep", ""}}, true).empty());  // a number of steps
  CHECK(user_loop({{"add", ""}, {"sleep", ""}}).empty());          // a set
  CHECK(user_loop({{"mkdir", "/d/lock"}, {"sleep", ""}}) == "a lock file by mkdir /d/lock");
  CHECK(user_loop({{"mkdir", "/d/x"}}, true).empty());
  CHECK(user_loop({{"execute", "BEGIN IMMEDIATE"}, {"sleep", ""}}) ==
        "a database's lock by execute BEGIN IMMEDIATE");
  CHECK(user_loop({{"wait", ""}}) == "an event by wait");
}

TEST_CASE("a thread that waits for files polls no object of its own process") {
  tests::WaitSpec files;
  files.on = snapshot::WaitOn::kSocket;
  files.how = snapshot::WaitHow::kFiles;
  CHECK(polls(kUser, {{{{"wait", ""}}, false, 0}}) == "an event by wait");
  CHECK(polls(kUser, {{{{"wait", ""}}, false, 0}}, files).empty());
}

TEST_CASE("a loop that only pauses may be part of one that polls") {
  CHECK(polls(kUser, {{{{"sleep", ""}}, true, 0}, {{{"exists", "/x"}, {"sleep", ""}}, false, 0}}) ==
        "a file by exists /x");
  CHECK(polls(kLibrary, {{{{"sleep", ""}, {"jitter", ""}}, true, 0},
                         {{{"exists", "/x"}, {"backoff", ""}}, false, 1}})
            .empty());
  // Frames inside a library's call say nothing about the loop around it.
  CHECK(polls(kLibrary, {{{{"compute_delay", ""}, {"sleep", ""}}, true, 0},
                         {{{"exists", "/x"}, {"sleep", ""}}, false, 1}}) == "a file by exists /x");
  // A call of the program's own function counts as work.
  CHECK(polls(kUser, {{{{"parse", ""}}, true, 0}, {{{"exists", "/x"}, {"sleep", ""}}, false, 0}})
            .empty());
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
  // Libraries wait for their own threads and queues all the time.
  CHECK(polls(kLibrary, {{{{"is_alive", ""}, {"sleep", ""}}, false, 0}}).empty());
  CHECK(polls(kLibrary, {{{{"wait", ""}}, false, 0}}).empty());
  CHECK(polls(kLibrary, {{{{"check", "k"}, {"sleep", ""}}, false, 0}}) ==
        "a key of a store by check k");
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
