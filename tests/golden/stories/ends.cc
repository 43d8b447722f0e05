// Ranks whose own thread waits for something of their own, which waits for something else: a worker
// of a pool, a program behind a shell, a thread. What that is tells the kind.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::WaitOn;

namespace {

Frames prepare(std::uint32_t line) {
  return program_at("bloom/prepare.py", {{"prepare", line}, {"main", 77}, {"<module>", 81}});
}

CaptureBuilder job_that_prepares() {
  return job_of(2, 4, Backend::kGloo, in_ddp_backward(prepare(52)));
}

ThreadSpec maps_a_pool(pid_t worker) {
  ThreadSpec spec = blocked(WaitOn::kChild, "futex",
                            futex_wait() +
                                Frames{std_py("threading.py", "Condition.wait", 320),
                                       std_py("threading.py", "Event.wait", 629),
                                       std_py("multiprocessing/pool.py", "ApplyResult.get", 768),
                                       std_py("multiprocessing/pool.py", "Pool.map", 367)} +
                                prepare(20));
  spec.wait.holder_pid = worker;
  spec.wait.inferred = true;
  return spec;
}

Frames pool_worker() {
  return {std_py("multiprocessing/pool.py", "mapstar", 48),
          std_py("multiprocessing/pool.py", "worker", 125)};
}

ThreadSpec in_file(std::string_view call, std::string_view path, const Frames& outer) {
  ThreadSpec spec = blocked(
      WaitOn::kFile, call,
      Frames{in_libc("__GI___" + std::string(call)), user_py("bloom/shards.py", "load", 12)} +
          outer);
  spec.wait.path = path;
  return spec;
}

ThreadSpec at_named_pipe(const Frames& outer) {
  ThreadSpec spec = in_file("openat", "/data/shards/7.pipe", outer);
  spec.wait.wchan = "wait_for_partner";
  return spec;
}

// A worker of a pool opens a named pipe that no process writes to.
CaptureBuilder pool_worker_at_a_pipe() {
  CaptureBuilder job = job_that_prepares();
  replace(job, 5, maps_a_pool(7601));
  add_child(job, 5, 7601, at_named_pipe(pool_worker()));
  add_child(job, 5, 7602,
            blocked(WaitOn::kPipe, "read",
                    Frames{in_libc("__GI___read"),
                           std_py("multiprocessing/queues.py", "SimpleQueue.get", 365),
                           std_py("multiprocessing/pool.py", "worker", 114)}));
  return job;
}

void name_command(CaptureBuilder& job, pid_t pid, pid_t parent, std::string_view command) {
  job.process(pid).parent = parent;
  job.process(pid).python_version = {};
  job.process(pid).command = job.capture.tables.string(command);
}

// The rank reads from a shell, which waits for the program that it runs.
CaptureBuilder program_of_a_shell() {
  CaptureBuilder job = job_that_prepares();
  ThreadSpec reads = blocked(WaitOn::kPipe, "read", Frames{in_libc("__GI___read")} + prepare(31));
  reads.wait.holder_pid = 7610;
  replace(job, 2, reads);
  ThreadSpec shell = blocked(WaitOn::kChild, "wait4", {in_libc("__GI___wait4")});
  shell.wait.holder_pid = 7611;
  add_child(job, 2, 7610, shell);
  ThreadSpec program = blocked(WaitOn::kFile, "read", {in_libc("__GI___read")});
  program.wait.path = "/scratch/shards/7.tar.gz";
  add_child(job, 2, 7611, program);
  name_command(job, 7610, pid_of(2), "/bin/sh -c gzip -dc /scratch/shards/7.tar.gz | sort");
  name_command(job, 7611, 7610, "gzip -dc /scratch/shards/7.tar.gz");
  return job;
}

// The rank waits for the end of a program's output; the program has ended, and left a daemon behind
// that has its output open.
CaptureBuilder daemon_left_behind() {
  CaptureBuilder job = job_that_prepares();
  ThreadSpec reads =
      blocked(WaitOn::kPipe, "poll",
              Frames{in_libc("__GI___poll"), std_py("subprocess.py", "Popen.communicate", 1209),
                     std_py("subprocess.py", "run", 550)} +
                  prepare(31));
  reads.wait.holder_pid = 7641;
  replace(job, 2, reads);
  ThreadSpec daemon = blocked(WaitOn::kChild, "wait4", {in_libc("__GI___wait4")});
  add_child(job, 2, 7641, daemon);
  name_command(job, 7641, 1, "sh -c while :; do beat; sleep 5; done");
  return job;
}

// The rank prints to a pipe that its reader, a program outside of the job, has stopped to read.
CaptureBuilder full_output() {
  CaptureBuilder job = job_that_prepares();
  ThreadSpec prints =
      blocked(WaitOn::kPipe, "write",
              Frames{in_libc("__GI___write"), in_interpreter("_Py_write")} + prepare(40));
  prints.wait.fd = 1;
  prints.wait.path = "pipe:[4711]";
  prints.wait.holder_pid = 990;
  replace(job, 3, prints);
  return job;
}

// The same, but another rank has the reading end.
CaptureBuilder reader_is_a_rank() {
  CaptureBuilder job = full_output();
  job.process(pid_of(3)).threads.front().wait.holder_pid = pid_of(1);
  replace(job, 1, blocked(WaitOn::kUnknown, "clock_nanosleep", python_sleep() + prepare(44)));
  return job;
}

// A child computes, and the rank joins it.
CaptureBuilder child_computes() {
  CaptureBuilder job = job_that_prepares();
  replace(job, 6, maps_a_pool(7620));
  add_child(job, 6, 7620,
            running(Frames{user_py("bloom/shards.py", "tokenize", 30)} + pool_worker(), 3'000'000));
  return job;
}

CaptureBuilder stopped_child() {
  CaptureBuilder job = job_that_prepares();
  replace(job, 6, maps_a_pool(7630));
  ThreadSpec worker =
      running(Frames{user_py("bloom/shards.py", "tokenize", 30)} + pool_worker(), 0);
  worker.state = 'T';
  worker.wait.on = WaitOn::kSignal;
  add_child(job, 6, 7630, worker);
  return job;
}

CaptureBuilder child_waits_for_a_lock() {
  CaptureBuilder job = job_that_prepares();
  replace(job, 4, maps_a_pool(7640));
  ThreadSpec worker =
      blocked(WaitOn::kFileLock, "flock",
              Frames{in_libc("flock"), user_py("bloom/shards.py", "fetch", 30)} + pool_worker());
  worker.wait.path = "/scratch/cache/hub.lock";
  worker.wait.holder_pid = 981;
  worker.wait.holder_alive = snapshot::Known::kYes;
  add_child(job, 4, 7640, worker);
  return job;
}

CaptureBuilder two_workers(const ThreadSpec& second) {
  CaptureBuilder job = job_that_prepares();
  replace(job, 5, maps_a_pool(0));
  add_child(job, 5, 7651, in_file("read", "/nfs/shards/7.tar", pool_worker()));
  add_child(job, 5, 7652, second);
  snapshot::Wait& wait = job.process(pid_of(5)).threads.front().wait;
  wait.rare.edit().about = snapshot::WaitAbout::kPool;
  wait.rare.edit().pool = {
      job.capture.tables.string("multiprocessing.Pool worker"), 2, 2, {7651, 7652}};
  return job;
}

// Any of the two may be the one that the rank waits for: both stand in a read.
CaptureBuilder workers_alike() {
  return two_workers(in_file("read", "/nfs/shards/8.tar", pool_worker()));
}

// multiprocessing.connection.wait(): the children have the other ends of all connections.
CaptureBuilder children_alike() {
  CaptureBuilder job = job_that_prepares();
  ThreadSpec polls = blocked(
      WaitOn::kSocket, "poll",
      Frames{in_libc("poll"), std_py("multiprocessing/connection.py", "wait", 930)} + prepare(48));
  polls.wait.how = snapshot::WaitHow::kFiles;
  replace(job, 5, polls);
  snapshot::RareWaitFacts& rare = job.process(pid_of(5)).threads.front().wait.rare.edit();
  for (const pid_t pid : {7651, 7652}) {
    add_child(
        job, 5, pid,
        in_file("read", "/nfs/shards/7.tar", Frames{user_py("bloom/shards.py", "serve", 12)}));
    rare.awaited.emplace_back().holder_pid = pid;
  }
  rare.awaited_count = 2;
  return job;
}

// One of them computes: it may be that one.
CaptureBuilder one_of_them_works() {
  return two_workers(
      running(Frames{user_py("bloom/shards.py", "tokenize", 30)} + pool_worker(), 900'000));
}

// The main thread waits for a thread that is blocked in a file.
CaptureBuilder thread_at_a_pipe() {
  CaptureBuilder job = job_that_prepares();
  ThreadSpec gets = on_lock(pid_of(7), 7661, 0x7f0010,
                            futex_wait() +
                                Frames{std_py("threading.py", "Condition.wait", 320),
                                       std_py("queue.py", "Queue.get", 171)} +
                                prepare(48));
  gets.wait.inferred = true;
  replace(job, 7, gets);
  ThreadSpec feeder = at_named_pipe(thread_end());
  feeder.python_name = "feeder";
  add_thread(job, 7, 7661, feeder);
  return job;
}

// Rank 0 waits for what rank 1 runs for it in a thread, while the main thread of rank 1 waits in
// the collective that rank 0 has not entered.
CaptureBuilder callee_at_a_pipe() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_gloo(world_call("all_reduce"), prepare(60)));
  replace(job, 0,
          on_lock(pid_of(0), 0, 0x7f0020,
                  futex_wait() +
                      Frames{in_torch("torch::jit::PythonFutureWrapper::wait"),
                             pkg_py("torch/distributed/rpc/api.py", "rpc_sync", 809)} +
                      prepare(55)));
  ThreadSpec serves =
      at_named_pipe({pkg_py("torch/distributed/rpc/internal.py", "_run_function", 233)});
  serves.python_name = "Dummy-1";
  add_thread(job, 1, 7671, serves);
  return job;
}

}  // namespace

std::vector<Story> stories_of_ends() {
  return {
      {"pool_worker_at_a_pipe",
       "a worker of multiprocessing.Pool opens a named pipe",
       Kind::kIoStall,
       {5},
       pool_worker_at_a_pipe},
      {"program_of_a_shell", "Popen(shell=True).stdout", Kind::kIoStall, {2}, program_of_a_shell},
      {"daemon_left_behind",
       "subprocess.run(capture_output=True)",
       Kind::kSkippedCollective,
       {2},
       daemon_left_behind},
      {"full_output", "a log reader that hangs", Kind::kIoStall, {3}, full_output},
      {"workers_alike", "all workers on one server", Kind::kIoStall, {5}, workers_alike},
      {"children_alike", "connections to children", Kind::kIoStall, {5}, children_alike},
      {"thread_at_a_pipe", "a prefetching thread", Kind::kIoStall, {7}, thread_at_a_pipe},
      {"reader_is_a_rank",
       "the reader sleeps, and holds the writer up",
       Kind::kSkippedCollective,
       {1},
       reader_is_a_rank,
       Kind::kIoStall},
      {"one_of_them_works",
       "the other worker may be meant",
       Kind::kSkippedCollective,
       {5},
       one_of_them_works,
       Kind::kIoStall},
      {"callee_at_a_pipe",
       "torch RPC: a parameter server's handler",
       Kind::kIoStall,
       {1},
       callee_at_a_pipe},
      {"child_computes", "a pool that tokenises", Kind::kBusyRank, {6}, child_computes},
      {"stopped_child", "Ctrl-Z met a worker", Kind::kStoppedRank, {6}, stopped_child},
      {"child_waits_for_a_lock",
       "a download in a worker",
       Kind::kFileLock,
       {4},
       child_waits_for_a_lock},
  };
}

}  // namespace oddrank::tests
