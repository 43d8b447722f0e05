#include "waits/node/join_processes.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/unit/waits/capture_builder.h"

namespace oddrank::waits {
namespace {

using snapshot::Known;
using snapshot::Wait;
using snapshot::WaitHow;
using snapshot::WaitOn;

constexpr std::string_view kLoader = "/v/lib/torch/utils/data/dataloader.py";
constexpr std::string_view kWorker = "/v/lib/torch/utils/data/_utils/worker.py";
constexpr std::string_view kQueues = "/usr/lib/python3.11/multiprocessing/queues.py";
constexpr std::string_view kConnection = "/usr/lib/python3.11/multiprocessing/connection.py";

std::size_t add_waiting_rank(CaptureBuilder& builder) {
  const std::size_t rank = builder.add(100, 1,
                                       {{"_poll", kConnection},
                                        {"Queue.get", kQueues},
                                        {"_MultiProcessingDataLoaderIter._try_get_data", kLoader},
                                        {"_MultiProcessingDataLoaderIter._get_data", kLoader},
                                        {"_MultiProcessingDataLoaderIter._next_data", kLoader},
                                        {"main", "/job/train.py"}});
  builder.wait(rank).on = WaitOn::kPipe;
  builder.wait(rank).fd = 8;
  builder.wait(rank).path = builder.capture.tables.string("pipe:[9]");
  return rank;
}

std::size_t add_idle_worker(CaptureBuilder& builder, pid_t pid) {
  return builder.add(
      pid, 100, {{"_poll", kConnection}, {"Queue.get", kQueues}, {"_worker_loop", kWorker, 334}});
}

std::size_t add_reading_worker(CaptureBuilder& builder, pid_t pid) {
  const std::size_t worker = builder.add(
      pid, 100, {{"Shards.__getitem__", "/job/data.py", 31}, {"_worker_loop", kWorker, 374}});
  builder.wait(worker).on = WaitOn::kFile;
  builder.wait(worker).path = builder.capture.tables.string("/data/shard-7.tar");
  builder.wait(worker).detail = builder.capture.tables.string("in read() of /data/shard-7.tar");
  return worker;
}

TEST_CASE("the one worker that is not idle is the holder") {
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  add_idle_worker(builder, 201);
  add_reading_worker(builder, 202);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).on == WaitOn::kInput);
  CHECK(builder.wait(rank).inferred);
  CHECK(builder.wait(rank).holder_pid == 202);
  CHECK(builder.wait(rank).holder_tid == 202);
  CHECK(builder.wait(rank).holder_alive == Known::kYes);
  CHECK(builder.capture.tables.text(builder.wait(rank).path) == "/data/shard-7.tar");
  CHECK(builder.wait(rank).fd == -1);
  CHECK(builder.says(rank) ==
        "DataLoader worker pid 202: in read() of /data/shard-7.tar; at Shards.__getitem__ "
        "(data.py:31)");
}

TEST_CASE("workers of another rank or node do not count") {
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  const std::size_t foreign = add_reading_worker(builder, 202);
  builder.process(foreign).parent = 999;
  builder.process(foreign).owner = 999;
  const std::size_t far = add_reading_worker(builder, 203);
  builder.process(far).node = 1;
  join_processes(builder.capture);
  CHECK(builder.wait(rank).on == WaitOn::kInput);
  CHECK(builder.wait(rank).holder_pid == 0);
  CHECK(builder.says(rank) == "waits for a DataLoader worker, but none was found");
}

TEST_CASE("a worker of a fork server belongs to its rank, too") {
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  const std::size_t worker = add_reading_worker(builder, 202);
  builder.process(worker).parent = 150;
  join_processes(builder.capture);
  CHECK(builder.wait(rank).holder_pid == 202);
}

TEST_CASE("several busy workers: no holder is named, all are described") {
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  add_reading_worker(builder, 201);
  add_reading_worker(builder, 202);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).on == WaitOn::kInput);
  CHECK(builder.wait(rank).holder_pid == 0);
  CHECK(builder.says(rank).find("2 DataLoader workers could be meant: pid 201: in read()") == 0);
  CHECK(builder.says(rank).find("pid 202") != std::string::npos);
}

TEST_CASE("a dead worker is the holder, and is dead") {
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  add_idle_worker(builder, 201);
  add_reading_worker(builder, 202);
  builder.add_dead(203, 100, "pt_data_worker", 9);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).holder_pid == 203);
  CHECK(builder.wait(rank).holder_alive == Known::kNo);
  CHECK(builder.says(rank) == "DataLoader worker pid 203: dead, not reaped, killed by signal 9");
}

TEST_CASE("a dead child of another name counts only if no worker is busy") {
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  builder.add_dead(203, 100, "sh", 256);
  const std::size_t worker = add_reading_worker(builder, 202);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).holder_pid == 202);

  CaptureBuilder second;
  const std::size_t lonely = add_waiting_rank(second);
  second.add_dead(203, 100, "python3", 256);
  join_processes(second.capture);
  CHECK(second.wait(lonely).holder_pid == 203);
  CHECK(second.says(lonely) == "DataLoader worker pid 203: dead, not reaped, exit code 1");
  CHECK(builder.wait(worker).holder_pid == 0);
}

TEST_CASE("all workers idle: no holder is named") {
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  add_idle_worker(builder, 201);
  add_idle_worker(builder, 202);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).holder_pid == 0);
  CHECK(builder.says(rank) == "waits for a DataLoader worker, but all 2 are idle");
}

TEST_CASE("a stopped worker is not idle, wherever it stands") {
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  add_idle_worker(builder, 201);
  builder.process(add_idle_worker(builder, 202)).state = 'T';
  join_processes(builder.capture);
  CHECK(builder.wait(rank).holder_pid == 202);
}

TEST_CASE("a worker that could not be read is not idle") {
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  add_idle_worker(builder, 201);
  const std::size_t unread = builder.add(202, 100, {});
  builder.process(unread).state = 'D';
  builder.process(unread).name = builder.capture.tables.string("pt_data_worker");
  builder.process(unread).threads.clear();
  join_processes(builder.capture);
  CHECK(builder.wait(rank).holder_pid == 202);
  CHECK(builder.says(rank) == "DataLoader worker pid 202: state D, no stack could be read");
}

TEST_CASE("the loader without workers is left as it was read") {
  CaptureBuilder builder;
  const std::size_t rank = builder.add(100, 1,
                                       {{"Shards.__getitem__", "/job/data.py"},
                                        {"_SingleProcessDataLoaderIter._next_data", kLoader}});
  builder.wait(rank).on = WaitOn::kFile;
  add_reading_worker(builder, 202);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).on == WaitOn::kFile);
  CHECK(builder.wait(rank).holder_pid == 0);
}

TEST_CASE("the frames that a forked worker has from its parent are not its own") {
  CaptureBuilder builder;
  const std::size_t worker =
      builder.add(100, 1,
                  {{"read", "/job/data.py"},
                   {"BaseProcess._bootstrap", "/usr/lib/python3.11/multiprocessing/process.py"},
                   {"_MultiProcessingDataLoaderIter._get_data", kLoader}});
  builder.wait(worker).on = WaitOn::kFile;
  join_processes(builder.capture);
  CHECK(builder.wait(worker).on == WaitOn::kFile);
}

TEST_CASE("a child that the system call names is described") {
  CaptureBuilder builder;
  const std::size_t rank =
      builder.add(100, 1, {{"Popen.wait", "/usr/lib/python3.11/subprocess.py"}});
  builder.wait(rank).on = WaitOn::kChild;
  builder.wait(rank).holder_pid = 202;
  add_reading_worker(builder, 201);
  add_reading_worker(builder, 202);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).holder_pid == 202);
  CHECK(builder.wait(rank).holder_alive == Known::kYes);
  CHECK(!builder.wait(rank).inferred);
  CHECK(builder.says(rank).find("pid 202: in read() of /data/shard-7.tar") == 0);
}

TEST_CASE("a join without a pid names an only child, and none of several") {
  CaptureBuilder builder;
  const std::size_t rank =
      builder.add(100, 1, {{"Process.join", "/usr/lib/python3.11/multiprocessing/process.py"}});
  add_reading_worker(builder, 201);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).on == WaitOn::kChild);
  CHECK(builder.wait(rank).holder_pid == 201);
  CHECK(builder.wait(rank).inferred);

  CaptureBuilder second;
  const std::size_t other =
      second.add(100, 1, {{"Process.join", "/usr/lib/python3.11/multiprocessing/process.py"}});
  add_reading_worker(second, 201);
  add_reading_worker(second, 202);
  join_processes(second.capture);
  CHECK(second.wait(other).holder_pid == 0);
}

TEST_CASE("a shell waits for the process of its pipeline for which the others wait") {
  CaptureBuilder builder;
  const std::size_t shell = builder.add(100, 1, {});
  builder.wait(shell).on = WaitOn::kChild;
  builder.wait(shell).syscall_name = builder.capture.tables.string("wait4");
  const auto add_member = [&](pid_t pid, char state, std::uint64_t cpu_us, pid_t waits_for) {
    const std::size_t member = builder.add(pid, 100, {});
    snapshot::ThreadCapture& thread = builder.process(member).threads.front();
    thread.samples.push_back(thread.samples.back());
    thread.samples.edit_back().state = state;
    thread.samples.edit_back().cpu_us = cpu_us;
    thread.wait.holder_pid = waits_for;
  };
  add_member(203, 'S', 0, 202);
  SECTION("one of them stands otherwise") {
    add_member(202, 'S', 0, 999);
    join_processes(builder.capture);
    CHECK(builder.wait(shell).holder_pid == 202);
  }
  SECTION("two run: the one that works most") {
    add_member(202, 'R', 900, 0);
    add_member(201, 'R', 50, 202);
    join_processes(builder.capture);
    CHECK(builder.wait(shell).holder_pid == 202);
  }
  SECTION("one runs and one stands: which one is meant is not known") {
    add_member(202, 'S', 0, 0);
    add_member(201, 'R', 50, 0);
    join_processes(builder.capture);
    CHECK(builder.wait(shell).holder_pid == 0);
  }
}

TEST_CASE("a queue whose only producer is dead") {
  CaptureBuilder builder;
  const std::size_t rank = builder.add(100, 1, {{"_recv", kConnection}, {"Queue.get", kQueues}});
  builder.wait(rank).on = WaitOn::kPipe;
  builder.add_dead(201, 100, "python3", 9);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).on == WaitOn::kPipe);
  CHECK(builder.wait(rank).holder_pid == 201);
  CHECK(builder.wait(rank).holder_alive == Known::kNo);

  CaptureBuilder second;
  const std::size_t other = second.add(100, 1, {{"_recv", kConnection}, {"Queue.get", kQueues}});
  add_reading_worker(second, 201);
  join_processes(second.capture);
  CHECK(second.wait(other).holder_pid == 0);
}

TEST_CASE("of several dead children, the one that did not exit in order owes what a queue gives") {
  const auto join = [](std::int32_t first, std::int32_t second, bool with_tracker) {
    CaptureBuilder builder;
    const std::size_t rank = builder.add(100, 1, {{"_recv", kConnection}, {"Queue.get", kQueues}});
    builder.wait(rank).on = WaitOn::kPipe;
    builder.add_dead(201, 100, "python3", first);
    builder.add_dead(202, 100, "python3", second);
    if (with_tracker) {
      builder.add(203, 100, {{"main", "/usr/lib/python3.11/multiprocessing/resource_tracker.py"}});
    }
    join_processes(builder.capture);
    return builder.wait(rank).holder_pid;
  };
  CHECK(join(0, 9, false) == 202);
  CHECK(join(0, 9, true) == 202);
  CHECK(join(9, 9, false) == 0);
  CHECK(join(0, 0, false) == 0);
}

// A rank in Pool.map(), with the pool's two threads that do nothing but receive, and an idle
// worker. `more` is innermost in the thread that hands out work.
CaptureBuilder waiting_pool(std::initializer_list<PythonFrameText> hands_out) {
  constexpr std::string_view kPool = "/usr/lib/python3.11/multiprocessing/pool.py";
  CaptureBuilder builder;
  builder.add(100, 1, {{"wait", kPool}, {"ApplyResult.get", kPool}, {"main", "/job/train.py"}});
  builder.wait(0).on = WaitOn::kLock;
  snapshot::ThreadCapture thread;
  thread.tid = 101;
  thread.samples.emplace_back().stack = builder.stack(hands_out);
  builder.process(0).threads.push_back(thread);
  thread.tid = 102;
  thread.samples.edit(0).stack = builder.stack(
      {{"_recv", kConnection}, {"recv", kConnection}, {"Pool._handle_results", kPool}});
  builder.process(0).threads.push_back(thread);
  builder.add(201, 100, {{"SimpleQueue.get", kQueues}, {"worker", kPool}});
  return builder;
}

TEST_CASE("a pool whose workers are all idle has lost the worker that had the work") {
  constexpr std::string_view kPool = "/usr/lib/python3.11/multiprocessing/pool.py";
  CaptureBuilder lost = waiting_pool({{"Pool._handle_tasks", kPool}});
  join_processes(lost.capture);
  CHECK(lost.wait(0).on == WaitOn::kChild);
  CHECK(lost.wait(0).holder_pid == 0);
  CHECK(lost.wait(0).holder_alive == Known::kNo);
  CHECK(
      lost.says(0) ==
      "waits for a multiprocessing.Pool worker, but all 1 are idle: the one that had the work has "
      "ended, and was replaced");

  // The program's own iterator has not given the work yet; or a pipe is full.
  CaptureBuilder iterates = waiting_pool({{"batches", "/job/train.py"},
                                          {"_guarded_task_generation", kPool},
                                          {"_handle_tasks", kPool}});
  join_processes(iterates.capture);
  CHECK(iterates.wait(0).holder_alive == Known::kUnknown);
  CaptureBuilder sends = waiting_pool({{"_send", kConnection}, {"_handle_tasks", kPool}});
  join_processes(sends.capture);
  CHECK(sends.wait(0).holder_alive == Known::kUnknown);

  CaptureBuilder works = waiting_pool({{"_handle_tasks", kPool}});
  works.add(202, 100, {{"tokenize", "/job/t.py"}, {"worker", kPool}});
  join_processes(works.capture);
  CHECK(works.wait(0).holder_pid == 202);
}

TEST_CASE("a process pool's parent waits for the worker that works") {
  constexpr std::string_view kProcess = "/usr/lib/python3.11/concurrent/futures/process.py";
  constexpr std::string_view kBase = "/usr/lib/python3.11/concurrent/futures/_base.py";
  CaptureBuilder builder;
  const std::size_t rank = builder.add(100, 1, {{"Future.result", kBase}});
  builder.wait(rank).on = WaitOn::kLock;
  builder.add(201, 100, {{"Queue.get", kQueues}, {"_process_worker", kProcess}});
  builder.add(202, 100, {{"tokenize", "/job/t.py"}, {"_process_worker", kProcess}});
  join_processes(builder.capture);
  CHECK(builder.wait(rank).on == WaitOn::kChild);
  CHECK(builder.wait(rank).holder_pid == 202);

  CaptureBuilder threads;  // a thread pool's future: no process has to do with it
  const std::size_t alone = threads.add(100, 1, {{"Future.result", kBase}});
  threads.wait(alone).on = WaitOn::kLock;
  join_processes(threads.capture);
  CHECK(threads.wait(alone).on == WaitOn::kLock);
}

// Returns a rank's wait for a future, with a busy worker process (pid 202) and a thread of a pool.
Wait wait_for_future(WaitHow how, pid_t holder, bool thread_is_busy) {
  constexpr std::string_view kProcess = "/usr/lib/python3.11/concurrent/futures/process.py";
  constexpr std::string_view kBase = "/usr/lib/python3.11/concurrent/futures/_base.py";
  constexpr std::string_view kThread = "/usr/lib/python3.11/concurrent/futures/thread.py";
  CaptureBuilder builder;
  const std::size_t rank = builder.add(100, 1, {{"Future.result", kBase}});
  builder.add(202, 100, {{"tokenize", "/job/t.py"}, {"_process_worker", kProcess}});
  snapshot::ThreadCapture thread;
  thread.tid = 101;
  thread.samples.emplace_back().stack =
      thread_is_busy
          ? builder.stack({{"load", "/job/t.py"}, {"_WorkItem.run", kThread}, {"_worker", kThread}})
          : builder.stack({{"_worker", kThread}});
  builder.process(rank).threads.push_back(thread);
  builder.wait(rank).on = holder == 0 ? WaitOn::kLock : WaitOn::kThread;
  builder.wait(rank).holder_tid = holder;
  builder.wait(rank).holder_pid = holder == 0 ? 0 : 100;
  builder.wait(rank).how = how;
  join_processes(builder.capture);
  return builder.wait(rank);
}

TEST_CASE("a future that a thread is at work on, or may be, names no process") {
  const Wait known = wait_for_future(WaitHow::kFutureOfThread, 101, true);
  CHECK(known.holder_pid == 100);
  CHECK(known.holder_tid == 101);
  // The future may be in the queue of the busy threads; idle ones would have taken it.
  CHECK(wait_for_future(WaitHow::kFutureNotBegun, 0, true).holder_pid == 0);
  CHECK(wait_for_future(WaitHow::kFutureNotBegun, 0, false).holder_pid == 202);
  CHECK(wait_for_future(WaitHow::kFuture, 0, true).holder_pid == 202);
}

TEST_CASE("an empty capture and a thread that runs") {
  CaptureBuilder empty;
  join_processes(empty.capture);
  CaptureBuilder builder;
  const std::size_t rank = add_waiting_rank(builder);
  builder.wait(rank).on = WaitOn::kNothing;
  add_reading_worker(builder, 201);
  join_processes(builder.capture);
  CHECK(builder.wait(rank).on == WaitOn::kNothing);
}

}  // namespace
}  // namespace oddrank::waits
