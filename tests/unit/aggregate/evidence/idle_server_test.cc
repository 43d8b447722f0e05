// Ranks that serve others, and have nothing to do or stand.
#include <string>

#include "aggregate/evidence/server_waits.h"
#include "aggregate/frames/frame_model.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

using snapshot::WaitOn;
using tests::Frames;
using tests::ThreadSpec;

const std::string kStd = "/usr/lib/python3.11/";

Frames in_condition() {
  return {tests::native("sem_wait", "libc.so.6"),
          tests::py("Condition.wait", kStd + "threading.py", 327)};
}

ThreadSpec at_lock(const Frames& outer, bool limited = false) {
  ThreadSpec spec;
  spec.frames = in_condition() + outer;
  spec.wait.on = WaitOn::kLock;
  spec.wait.syscall = "futex";
  spec.wait.limited = limited;
  return spec;
}

ThreadSpec keeps_serving() {
  return at_lock({tests::py("Server.serve_forever", kStd + "multiprocessing/managers.py", 176),
                  tests::py("serve", "/job/farm.py", 16)});
}

ThreadSpec accepting() {
  ThreadSpec spec;
  spec.frames = {tests::native("accept4", "libc.so.6"),
                 tests::py("socket.accept", kStd + "socket.py", 294)};
  spec.wait.on = WaitOn::kSocket;
  spec.wait.syscall = "accept4";
  return spec;
}

// An event loop that listens, and is woken by its own threads.
ThreadSpec listening_loop() {
  ThreadSpec spec;
  spec.frames = {tests::native("epoll_wait", "libc.so.6"),
                 tests::py("EpollIOManager.get_events", "/v/site-packages/trio/_io_epoll.py", 243),
                 tests::py("main", "/job/farm.py", 95)};
  spec.wait.on = WaitOn::kSocket;
  spec.wait.syscall = "epoll_wait";
  spec.wait.how = snapshot::WaitHow::kFiles;
  return spec;
}

void set_files_of_loop(snapshot::ProcessCapture& process) {
  for (snapshot::ThreadCapture& thread : process.threads) {
    if (thread.wait.how == snapshot::WaitHow::kFiles) {
      snapshot::RareWaitFacts& rare = thread.wait.rare.edit();
      rare.awaited.resize(2);
      rare.awaited[0].state = snapshot::kTcpListens;
      rare.awaited[1].holder_pid = process.pid;
      rare.awaited_count = 2;
    }
  }
}

// Does what a client has asked for: a get of a queue.
ThreadSpec library_handler() {
  return at_lock({tests::py("Queue.get", kStd + "queue.py", 171),
                  tests::py("Server.serve_client", kStd + "multiprocessing/managers.py", 260)});
}

// The program's own answer, which waits.
ThreadSpec own_handler(bool limited) {
  return at_lock(
      {tests::py("Queue.get", kStd + "queue.py", 180), tests::py("do_GET", "/job/farm.py", 9)},
      limited);
}

ThreadSpec working() {
  ThreadSpec spec;
  spec.frames = {tests::py("render", "/job/farm.py", 30)};
  spec.state = 'R';
  spec.cpu_step_us = 400'000;
  return spec;
}

// Rank 0 has these threads, the first of which speaks for it; rank 1 waits for its answer.
bool is_idle(const std::vector<ThreadSpec>& threads, bool asked = true) {
  tests::CaptureBuilder job({"n0"}, 2);
  auto& server = job.rank(0, "n0", 10);
  for (const ThreadSpec& spec : threads) {
    job.thread(server, spec);
  }
  set_files_of_loop(server);
  ThreadSpec asks;
  asks.frames = {tests::native("recv", "libc.so.6"), tests::py("work", "/job/farm.py", 27)};
  asks.wait.on = WaitOn::kSocket;
  asks.wait.syscall = "recvfrom";
  if (!asked) {
    asks.wait.on = WaitOn::kLock;
    asks.wait.syscall = "futex";
  }
  job.thread(job.rank(1, "n0", 11), asks);
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  return may_be_idle(view, find_slots(view), 0);
}

}  // namespace

TEST_CASE("idle servers: handlers that do what clients have asked for") {
  CHECK(is_idle({keeps_serving(), accepting(), library_handler(), library_handler()}));
  CHECK(is_idle({keeps_serving(), accepting(), own_handler(true)}));  // it answers in time anyhow
  CHECK_FALSE(is_idle({keeps_serving(), library_handler()}));         // no client can come
  CHECK_FALSE(is_idle({keeps_serving(), accepting(), own_handler(false)}));
  CHECK_FALSE(is_idle({keeps_serving(), accepting(), library_handler(), working()}));
}

TEST_CASE("idle servers: the main thread's event loop listens") {
  const ThreadSpec rests =
      at_lock({tests::py("WorkerThread._work", "/v/site-packages/trio/_threads.py", 70)});
  CHECK(is_idle({listening_loop(), rests}, false));
  CHECK_FALSE(is_idle({listening_loop(), rests}));  // rank 1 waits for its answer
  CHECK_FALSE(is_idle({listening_loop(), working()}, false));
  CHECK_FALSE(is_idle({listening_loop(), own_handler(false)}, false));
  ThreadSpec own_loop = listening_loop();  // its worker may have to wake it
  own_loop.frames = {tests::native("epoll_wait", "libc.so.6"), tests::py("main", "/job/a.py", 5)};
  CHECK_FALSE(is_idle({own_loop, rests}, false));
}

// A session is a connection to the port at which it listens, or of a client that waits for it.
TEST_CASE("idle servers: the main thread's event loop has sessions of clients, too") {
  tests::CaptureBuilder job({"n0"}, 2);
  auto& server = job.rank(0, "n0", 10);
  job.thread(server, listening_loop());
  set_files_of_loop(server);
  snapshot::RareWaitFacts& rare = server.threads[0].wait.rare.edit();
  snapshot::Tables& tables = job.capture.tables;
  rare.awaited[0].local = tables.string("0.0.0.0:8400");
  rare.awaited.resize(3);
  rare.awaited_count = 3;
  snapshot::AwaitedFile& session = rare.awaited[2];
  session.link = tables.string("socket:[8]");
  job.thread(job.rank(1, "n0", 11), keeps_serving());
  const auto idle = [&job] {
    FrameModel model(job.capture.tables);
    const JobView view(job.capture, model);
    return may_be_idle(view, find_slots(view), 0);
  };
  CHECK_FALSE(idle());
  session.local = tables.string("10.0.0.1:8400");
  session.peer = tables.string("10.0.0.9:51344");
  CHECK(idle());
  session.local = tables.string("10.0.0.1:43210");  // it has connected itself
  CHECK_FALSE(idle());
  session.local = session.peer = {};
  session.holder_pid = 20;
  snapshot::ProcessCapture& client = job.child(10, "n0", 20);
  job.thread(client, listening_loop());
  CHECK_FALSE(idle());
  job.process(20).threads[0].wait.holder_pid = 10;
  CHECK(idle());
}

// gRPC's loop has no Python: it listens and has sessions, and a handler waits for what it gets.
TEST_CASE("idle servers: a library's loop has sessions of clients") {
  tests::CaptureBuilder job({"n0"}, 2);
  auto& server = job.rank(0, "n0", 10);
  job.thread(server, at_lock({tests::py("Queue.get", kStd + "queue.py", 171),
                              tests::py("main", "/job/serve.py", 57)}));
  ThreadSpec loop;
  loop.frames = {tests::native("epoll_wait", "libc.so.6"), tests::native("poll", "cygrpc.so")};
  loop.wait.on = WaitOn::kSocket;
  loop.wait.syscall = "epoll_wait";
  loop.wait.how = snapshot::WaitHow::kFiles;
  snapshot::RareWaitFacts& rare = job.thread(server, loop).wait.rare.edit();
  snapshot::Tables& tables = job.capture.tables;
  rare.awaited.resize(2);
  rare.awaited_count = 2;
  rare.awaited[0].state = snapshot::kTcpListens;
  rare.awaited[0].local = tables.string("127.0.0.1:43481");
  rare.awaited[1].local = tables.string("127.0.0.1:43481");
  rare.awaited[1].peer = tables.string("127.0.0.1:60636");
  job.thread(job.rank(1, "n0", 11), keeps_serving());
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  CHECK(may_be_idle(view, find_slots(view), 0));
}

// A trainer has asked its server to take part in a broadcast, and the server has gone back to its
// queue.
TEST_CASE("idle servers: one that has not taken what the root of a call gives is not idle") {
  const auto idle_beside = [](std::int32_t root) {
    tests::CaptureBuilder job({"n0"}, 2);
    auto& server = job.rank(0, "n0", 10);
    job.thread(server, at_lock({tests::py("Queue.get", kStd + "queue.py", 171),
                                tests::py("loop", "/job/server.py", 40)}));
    job.thread(server, accepting());
    ThreadSpec trainer;
    trainer.call.emplace();
    trainer.call->op = "broadcast";
    trainer.call->group = "sync";
    trainer.call->members = {0, 1};
    trainer.call->root = root;
    job.thread(job.rank(1, "n0", 11), trainer);
    FrameModel model(job.capture.tables);
    const JobView view(job.capture, model);
    return may_be_idle(view, find_slots(view), 0);
  };
  CHECK(idle_beside(0));  // a worker that waits for what the server is to give
  CHECK_FALSE(idle_beside(1));
}

TEST_CASE("idle servers: a main thread that waits for the program itself has something to do") {
  const ThreadSpec waits = at_lock(
      {tests::py("Event.wait", kStd + "threading.py", 629), tests::py("main", "/job/farm.py", 40)});
  CHECK_FALSE(is_idle({waits, accepting(), library_handler()}));
}

}  // namespace oddrank::aggregate
