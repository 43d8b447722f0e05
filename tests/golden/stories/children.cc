// Ranks that wait for their input, and ranks whose children will never answer.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::Known;
using snapshot::WaitOn;

namespace {

Frames fit(std::uint32_t line) {
  return program_at("bloom/train.py", {{"fit", line}, {"main", 77}, {"<module>", 81}});
}

FrameSpec worker_loop(std::uint32_t line) {
  return pkg_py("torch/utils/data/_utils/worker.py", "_worker_loop", line);
}

CaptureBuilder job_with_children() {
  return job_of(2, 4, Backend::kGloo, in_ddp_backward(fit(52)));
}

// --- input_stall ---

// DALI has threads, no processes: frames show only that its pipeline does not deliver.
CaptureBuilder dali_pipeline() {
  CaptureBuilder job = job_with_children();
  replace(
      job, 3,
      blocked(
          WaitOn::kLock, "futex",
          futex_wait() +
              Frames{native("_ZN4dali16PipelinedExecutor12ShareOutputsEv",
                            "/home/ada/venv/lib/python3.11/site-packages/nvidia/dali/libdali.so"),
                     pkg_py("nvidia/dali/pipeline.py", "Pipeline.share_outputs", 1103),
                     pkg_py("nvidia/dali/plugin/pytorch/__init__.py",
                            "DALIGenericIterator.__next__", 202)} +
              fit(48)));
  return job;
}

// A worker on a socket to the object store, which has not answered for minutes.
CaptureBuilder worker_waits_for_the_store() {
  CaptureBuilder job = job_with_children();
  replace(job, 6, at_loader(7502, fit(48)));
  ThreadSpec worker =
      blocked(WaitOn::kSocket, "recvfrom",
              Frames{in_libc("__libc_recv"), std_py("ssl.py", "SSLSocket.read", 1166),
                     std_py("http/client.py", "HTTPResponse.readinto", 465),
                     pkg_py("botocore/response.py", "StreamingBody.read", 99),
                     user_py("bloom/shards.py", "fetch", 40), worker_loop(308)});
  worker.wait.path = "socket:[7719]";
  worker.wait.fd = 31;
  add_child(job, 6, 7502, worker);
  // A sibling that has delivered, and waits for more work.
  add_child(
      job, 6, 7503,
      blocked(WaitOn::kPipe, "read",
              Frames{in_libc("__GI___read"), std_py("multiprocessing/queues.py", "Queue.get", 103),
                     worker_loop(275)}));
  return job;
}

// All ranks read the same file system, and all of them wait for it.
CaptureBuilder all_of_them_starve() {
  return job_of(2, 4, Backend::kNccl, at_loader(0, fit(48)));
}

// In a healthy job most ranks meet at the loader now and then.
CaptureBuilder between_two_batches() {
  return job_of(2, 4, Backend::kGloo,
                elsewhere_before(at_loader(0, fit(48)), in_ddp_backward(fit(52)).frames));
}

// --- child_deadlock ---

ThreadSpec stuck_in_openmp() {
  ThreadSpec spec =
      blocked(WaitOn::kLock, "futex",
              Frames{in_libc("__lll_lock_wait"), in_libc("___pthread_mutex_lock"),
                     native("__kmp_free_thread", "/home/ada/venv/lib/libiomp5.so"),
                     native("__kmp_set_num_threads", "/home/ada/venv/lib/libiomp5.so"),
                     pkg_py("torch/__init__.py", "set_num_threads", 1201), worker_loop(228),
                     std_py("multiprocessing/process.py", "BaseProcess._bootstrap", 314)});
  spec.wait.address = 0x7f11a0;
  spec.wait.holder_alive = Known::kNo;
  spec.wait.detail = "mutex locked by thread 3311 of pid 3004, which this process does not have";
  return spec;
}

// A 3-D job: the tensor group of one stage waits for the member whose worker inherited a lock.
CaptureBuilder openmp_after_fork() {
  CaptureBuilder job = job_of(2, 4, Backend::kNccl,
                              in_nccl_call(group_call("broadcast", "tp#1", {4, 5, 6, 7}), fit(44)));
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    replace(job, rank, in_nccl_call(transfer(snapshot::CallKind::kRecv, rank + 4), fit(46)));
  }
  replace(job, 4, at_loader(7510, fit(41)));
  add_child(job, 4, 7510, stuck_in_openmp());
  return job;
}

// A worker of a pool was killed with its work; the pool has started another one, and waits for
// good.
CaptureBuilder pool_without_answer(Known alive) {
  CaptureBuilder job = job_with_children();
  replace(job, 3,
          blocked(WaitOn::kChild, "futex",
                  futex_wait() +
                      Frames{std_py("threading.py", "Event.wait", 622),
                             std_py("multiprocessing/pool.py", "ApplyResult.get", 768),
                             std_py("multiprocessing/pool.py", "Pool.map", 367)} +
                      fit(48)));
  snapshot::Wait& wait = job.process(pid_of(3)).threads.front().wait;
  wait.inferred = true;
  wait.rare.edit().about = snapshot::WaitAbout::kPool;
  wait.rare.edit().pool.name = job.capture.tables.string("multiprocessing.Pool worker");
  wait.rare.edit().pool.workers = 4;
  wait.holder_alive = alive;
  return job;
}

CaptureBuilder lost_worker() {
  return pool_without_answer(Known::kNo);
}

CaptureBuilder idle_pool() {
  return pool_without_answer(Known::kUnknown);
}

// An asynchronous checkpoint: the rank joins its writer, which writes to a pipe without a reader.
CaptureBuilder join_before_drain() {
  CaptureBuilder job = job_with_children();
  ThreadSpec joins =
      blocked(WaitOn::kChild, "wait4",
              Frames{in_libc("__GI___wait4"), in_interpreter("os_waitpid"),
                     std_py("multiprocessing/popen_fork.py", "Popen.poll", 27),
                     std_py("multiprocessing/process.py", "BaseProcess.join", 149),
                     pkg_py("megatron/core/dist_checkpointing/strategies/async_utils.py",
                            "TemporalAsyncCaller.close", 248)} +
                  fit(60));
  joins.wait.holder_pid = 7520;
  joins.wait.wchan = "do_wait";
  replace(job, 1, joins);
  ThreadSpec writer =
      blocked(WaitOn::kPipe, "write",
              Frames{in_libc("__GI___write"), in_interpreter("_Py_write"),
                     std_py("multiprocessing/connection.py", "Connection._send", 384),
                     pkg_py("megatron/core/dist_checkpointing/strategies/filesystem_async.py",
                            "FileSystemWriterAsync.write_preloaded_data", 331)});
  writer.wait.holder_pid = pid_of(1);
  writer.wait.path = "pipe:[90113]";
  writer.wait.wchan = "anon_pipe_write";
  add_child(job, 1, 7520, writer);
  return job;
}

// Popen.wait() of a filter that reads to the end of its input, which is still open.
CaptureBuilder input_is_not_closed() {
  CaptureBuilder job = job_with_children();
  ThreadSpec waits = blocked(
      WaitOn::kChild, "wait4",
      Frames{in_libc("wait4"), std_py("subprocess.py", "Popen._try_wait", 2004),
             std_py("subprocess.py", "Popen.wait", 1264), user_py("bloom/audio.py", "encode", 8)} +
          fit(20));
  waits.wait.holder_pid = 7525;
  replace(job, 1, waits);
  ThreadSpec reads = blocked(WaitOn::kPipe, "read", Frames{in_libc("fread_unlocked")});
  reads.wait.holder_pid = pid_of(1);
  reads.wait.path = "pipe:[90117]";
  reads.wait.wchan = "anon_pipe_read";
  add_child(job, 1, 7525, reads);
  return job;
}

// Rank 1 reads the answer of one child; the other child has inherited that one's input, and waits
// for more of its own.
CaptureBuilder sibling_has_the_input() {
  CaptureBuilder job = job_with_children();
  const auto reads = [](pid_t from, std::string_view path) {
    ThreadSpec spec = blocked(WaitOn::kPipe, "read",
                              Frames{in_libc("read"), user_py("bloom/clean.py", "finish", 39)});
    spec.wait.holder_pid = from;
    spec.wait.path = path;
    return spec;
  };
  replace(job, 1, reads(7540, "pipe:[90140]"));
  add_child(job, 1, 7540, reads(7541, "pipe:[90141]"));
  add_child(job, 1, 7541, reads(pid_of(1), "pipe:[90142]"));
  return job;
}

// Tokenizers' thread pool was in use when the process forked; the child waits for its threads.
CaptureBuilder rayon_after_fork() {
  CaptureBuilder job = job_with_children();
  ThreadSpec maps =
      blocked(WaitOn::kPipe, "poll",
              Frames{in_libc("__GI___poll"), std_py("selectors.py", "PollSelector.select", 415),
                     std_py("multiprocessing/connection.py", "wait", 930),
                     pkg_py("datasets/utils/py_utils.py", "iflatmap_unordered", 718),
                     pkg_py("datasets/arrow_dataset.py", "Dataset.map", 3220)} +
                  fit(20));
  maps.wait.holder_pid = 7530;
  replace(job, 0, maps);
  add_child(
      job, 0, 7530,
      blocked(
          WaitOn::kLock, "futex",
          Frames{
              in_libc("syscall"),
              native("_ZN10rayon_core5latch9LockLatch4waitEv",
                     "/home/ada/venv/lib/python3.11/site-packages/tokenizers/tokenizers.abi3.so"),
              pkg_py("transformers/tokenization_utils_fast.py",
                     "PreTrainedTokenizerFast._batch_encode_plus", 539),
              user_py("bloom/prepare.py", "encode", 12)}));
  return job;
}

// vfork: the parent is in state D until the child has called exec, which a dead server delays.
CaptureBuilder vfork_of_a_stuck_child() {
  CaptureBuilder job = job_with_children();
  ThreadSpec forks = blocked(WaitOn::kChild, "vfork",
                             Frames{in_libc("__vfork"), in_interpreter("subprocess_fork_exec"),
                                    std_py("subprocess.py", "Popen._execute_child", 1899),
                                    user_py("bloom/train.py", "git_revision", 14)} +
                                 fit(18));
  forks.state = 'D';
  forks.wait.wchan = "kernel_clone";
  forks.wait.holder_pid = 7540;
  replace(job, 2, forks);
  ThreadSpec child =
      blocked(WaitOn::kFile, "execve", {in_libc("execve"), in_interpreter("child_exec")});
  child.state = 'D';
  child.wait.path = "/nfs/tools/bin/git";
  child.wait.wchan = "rpc_wait_bit_killable";
  add_child(job, 2, 7540, child);
  return job;
}

// A worker that waits for work is idle: all of them wait at the queue's lock.
CaptureBuilder idle_worker() {
  CaptureBuilder job = job_with_children();
  replace(job, 6, at_loader(7550, fit(48)));
  add_child(
      job, 6, 7550,
      blocked(WaitOn::kLock, "futex",
              Frames{in_libc("__futex_abstimed_wait_common"),
                     std_py("multiprocessing/queues.py", "Queue.get", 103), worker_loop(275)}));
  return job;
}

// A rank at a lock of multiprocessing, which tells no owner, and a child that has ended so.
CaptureBuilder lock_and_dead_child(std::int32_t exit_code) {
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, in_gloo(world_call("all_reduce"), fit(48)));
  ThreadSpec waits = blocked(WaitOn::kLock, "futex",
                             Frames{in_libc("sem_wait"), std_py("multiprocessing/synchronize.py",
                                                                "SemLock.__enter__", 95)} +
                                 fit(44));
  waits.wait.lock.kind = snapshot::LockKind::kShared;
  replace(job, 2, waits);
  ThreadSpec child = blocked(WaitOn::kUnknown, "", {});
  child.state = 'Z';
  add_child(job, 2, 7560, child);
  snapshot::ProcessCapture& process = job.capture.processes.back();
  process.state = 'Z';
  process.exit_code = exit_code;
  return job;
}

CaptureBuilder killed_with_a_lock() {
  return lock_and_dead_child(9);
}

CaptureBuilder child_ended_before() {
  return lock_and_dead_child(0);
}

}  // namespace

std::vector<Story> stories_of_children() {
  return {
      {"killed_with_a_lock",
       "the OOM killer ends a worker in its critical section",
       Kind::kChildDeadlock,
       {2},
       killed_with_a_lock},
      {"child_ended_before",
       "a child that ended in order has given its locks back",
       Kind::kSkippedCollective,
       {2},
       child_ended_before,
       Kind::kChildDeadlock},
      {"shard_on_disk", "a worker in read() of a shard", Kind::kInputStall, {5}, input_stall_job},
      {"three_dimensional",
       "hangs.md A10: a loader behind a tensor group behind a pipeline",
       Kind::kInputStall,
       {2},
       three_dimensional_job},
      {"dali_pipeline", "a pipeline of threads", Kind::kInputStall, {3}, dali_pipeline},
      {"worker_waits_for_the_store",
       "B7 in a worker: S3 does not answer",
       Kind::kInputStall,
       {6},
       worker_waits_for_the_store},
      {"all_of_them_starve",
       "nobody is in a collective",
       Kind::kInputStall,
       {0, 1, 2, 3, 4, 5, 6, 7},
       all_of_them_starve},
      {"between_two_batches",
       "everybody passes by the loader",
       Kind::kHealthy,
       {},
       between_two_batches,
       Kind::kInputStall},
      {"zombie_worker", "a worker is a zombie", Kind::kChildDeadlock, {5}, child_deadlock_job},
      {"lost_worker",
       "CPython#66587: a worker of multiprocessing.Pool is killed",
       Kind::kChildDeadlock,
       {3},
       lost_worker},
      {"idle_pool",
       "the program's iterator gives no work",
       Kind::kSkippedCollective,
       {3},
       idle_pool,
       Kind::kChildDeadlock},
      {"openmp_after_fork",
       "hangs.md B1, BLOOM 2022-05-18: a lock inherited by fork",
       Kind::kChildDeadlock,
       {4},
       openmp_after_fork},
      {"join_before_drain", "B3, Megatron-LM#2422", Kind::kChildDeadlock, {1}, join_before_drain},
      {"input_is_not_closed", "", Kind::kChildDeadlock, {1}, input_is_not_closed},
      {"sibling_has_the_input", "", Kind::kChildDeadlock, {1}, sibling_has_the_input},
      {"rayon_after_fork",
       "B4: tokenizers after a fork",
       Kind::kChildDeadlock,
       {0},
       rayon_after_fork},
      {"vfork_of_a_stuck_child",
       "contract: state D in vfork() is the child's affair",
       Kind::kChildDeadlock,
       {2},
       vfork_of_a_stuck_child},
      {"idle_worker",
       "a worker without work",
       Kind::kInputStall,
       {6},
       idle_worker,
       Kind::kChildDeadlock},
  };
}

}  // namespace oddrank::tests
