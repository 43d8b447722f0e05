// Threads of one rank that wait for each other: for locks, or for locks and the GIL.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::Known;
using snapshot::WaitOn;

namespace {

Frames part(std::uint32_t line) {
  return program_at("tts/train.py", {{"part", line}, {"main", 90}, {"<module>", 99}});
}

CaptureBuilder job_with_locks() {
  return job_of(2, 4, Backend::kGloo, in_ddp_backward(part(66)));
}

Frames mutex() {
  return {in_libc("__lll_lock_wait"), in_libc("___pthread_mutex_lock")};
}

Frames python_lock(std::string_view function, std::uint32_t line) {
  return {in_libc("__futex_abstimed_wait_common"), in_libc("__new_sem_wait_slow64"),
          in_interpreter("PyThread_acquire_lock_timed"), user_py("tts/cache.py", function, line)};
}

// --- lock_deadlock ---

// A module that starts a thread and joins it while it is imported; the thread imports, too.
CaptureBuilder import_lock() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(5);
  ThreadSpec joins = blocked(
      WaitOn::kThread, "futex",
      Frames{in_libc("__futex_abstimed_wait_common"), std_py("threading.py", "Thread.join", 1119),
             user_py("tts/plugins/__init__.py", "<module>", 22),
             py("_find_and_load", "<frozen importlib._bootstrap>", 1176)} +
          part(12));
  joins.wait.holder_pid = pid;
  joins.wait.holder_tid = 7610;
  joins.wait.holder_alive = Known::kYes;
  joins.wait.detail = "joins thread 7610";
  replace(job, 5, joins);
  ThreadSpec imports =
      on_lock(pid, pid, 0x55e0c0,
              Frames{in_libc("__futex_abstimed_wait_common"),
                     py("_ModuleLock.acquire", "<frozen importlib._bootstrap>", 133),
                     user_py("tts/plugins/scan.py", "scan", 8)} +
                  thread_end());
  imports.wait.how = snapshot::WaitHow::kPythonLock;
  imports.wait.detail = "import lock of tts.plugins, held by thread 3005";
  imports.python_name = "Thread-1 (scan)";
  add_thread(job, 5, 7610, imports);
  return job;
}

// A finaliser runs in the middle of a `with lock`, and takes the same lock.
CaptureBuilder finaliser() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(2);
  ThreadSpec spec =
      on_lock(pid, pid, 0x7fd190,
              python_lock("Cache.__del__", 71) +
                  Frames{in_interpreter("subtype_dealloc"), in_interpreter("gc_collect_main"),
                         user_py("tts/cache.py", "Cache.put", 40)} +
                  part(33));
  spec.wait.inferred = true;
  spec.wait.how = snapshot::WaitHow::kPythonLock;
  spec.wait.detail = "the thread is in a `with` of the same lock (tts/cache.py:40)";
  replace(job, 2, spec);
  return job;
}

// A wait for a future, on which a thread of the same process depends.
ThreadSpec on_future(pid_t pid, pid_t holder, snapshot::WaitHow how, std::uint32_t line) {
  ThreadSpec spec = on_lock(pid, holder, 0,
                            Frames{in_libc("__futex_abstimed_wait_common"),
                                   std_py("concurrent/futures/_base.py", "Future.result", 451),
                                   user_py("tts/features.py", "tiles", line)} +
                                thread_end());
  spec.wait.on = WaitOn::kThread;
  spec.wait.how = how;
  return spec;
}

// A pool's two threads wait for work that they have given to the pool; the main thread for one.
CaptureBuilder full_pool() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(3);
  ThreadSpec main = on_future(pid, 7651, snapshot::WaitHow::kFutureOfThread, 20);
  replace(job, 3, main);
  for (const pid_t tid : {7651, 7652}) {
    ThreadSpec waits =
        on_future(pid, tid == 7651 ? 7652 : 7651, snapshot::WaitHow::kFutureOfPool, 31);
    waits.python_name = tid == 7651 ? "feat_0" : "feat_1";
    add_thread(job, 3, tid, waits);
  }
  return job;
}

// A coroutine waits in its event loop's thread for another one of that loop.
CaptureBuilder loop_waits_for_itself() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(6);
  replace(job, 6, on_future(pid, 7651, snapshot::WaitHow::kFutureOfLoop, 20));
  add_thread(job, 6, 7651, on_future(pid, 7651, snapshot::WaitHow::kFutureOfLoop, 44));
  return job;
}

// The thread that does the work for which the main thread waits does it.
CaptureBuilder future_in_work() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(6);
  replace(job, 6, on_future(pid, 7651, snapshot::WaitHow::kFutureOfPool, 20));
  add_thread(job, 6, 7651,
             running(Frames{user_py("tts/features.py", "mel", 52)} + thread_end(), 4'900'000));
  return job;
}

// SIGTERM arrived while malloc held its lock, and the handler wants memory.
CaptureBuilder signal_handler() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(7);
  ThreadSpec spec = on_lock(
      pid, pid, 0x7fa280,
      mutex() +
          Frames{in_libc("__GI___libc_malloc"), native("on_sigterm", "/home/ada/tts/libflush.so"),
                 in_libc("__restore_rt"), in_libc("_int_malloc"), in_libc("__GI___libc_malloc")} +
          part(51));
  replace(job, 7, spec);
  return job;
}

// A owns the queue and wants the index, B owns the index and wants the journal, C the queue.
CaptureBuilder three_threads() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(0);
  replace(job, 0, on_lock(pid, 7631, 0x600010, mutex() + part(40)));
  ThreadSpec index = on_lock(pid, 7632, 0x600020,
                             mutex() + Frames{user_py("tts/index.py", "flush", 18)} + thread_end());
  index.python_name = "indexer";
  add_thread(job, 0, 7631, index);
  ThreadSpec journal = on_lock(
      pid, pid, 0x600030, mutex() + Frames{user_py("tts/journal.py", "rotate", 9)} + thread_end());
  journal.python_name = "journal";
  add_thread(job, 0, 7632, journal);
  return job;
}

// The lock's owner works: it will release the lock.
CaptureBuilder the_owner_works() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(3);
  replace(job, 3, on_lock(pid, 7641, 0x600040, mutex() + part(40)));
  ThreadSpec owner =
      running(Frames{user_py("tts/index.py", "rebuild", 55)} + thread_end(), 490'000);
  owner.python_name = "indexer";
  add_thread(job, 3, 7641, owner);
  return job;
}

// --- gil_deadlock ---

// An extension joins its own thread with the GIL held; that thread's last act needs the GIL.
CaptureBuilder extension_joins() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(4);
  ThreadSpec joins =
      blocked(WaitOn::kThread, "futex",
              Frames{in_libc("__futex_abstimed_wait_common"), in_libc("__pthread_clockjoin_ex"),
                     native("_ZN9resampler4Pool4stopEv", "/home/ada/tts/_resample.so"),
                     in_interpreter("cfunction_call")} +
                  part(44));
  joins.holds_gil = true;
  joins.wait.holder_pid = pid;
  joins.wait.holder_tid = 7651;
  joins.wait.holder_alive = Known::kYes;
  replace(job, 4, joins);
  ThreadSpec worker = on_gil(
      pid, pid,
      {in_interpreter("PyGILState_Ensure"),
       native("_ZN9resampler4Pool3runEv", "/home/ada/tts/_resample.so"), in_libc("start_thread")});
  worker.has_python = false;
  worker.python_name = "";
  worker.name = "resample-0";
  add_thread(job, 4, 7651, worker);
  return job;
}

// NCCL's watchdog holds a lock of the driver and wants the GIL for its log; main has it.
CaptureBuilder watchdog_wants_the_gil() {
  CaptureBuilder job =
      job_of(2, 4, Backend::kNccl, in_nccl_call(world_call("all_reduce"), part(66)));
  const pid_t pid = pid_of(6);
  ThreadSpec main = on_lock(pid, 7661, 0x7f3300,
                            mutex() +
                                Frames{in_driver("cuMemFree_v2"), in_cudart("cudaFree"),
                                       in_torch_cuda("c10::cuda::CUDACachingAllocator::emptyCache"),
                                       pkg_py("torch/cuda/memory.py", "empty_cache", 162)} +
                                part(58));
  main.holds_gil = true;
  replace(job, 6, main);
  ThreadSpec watchdog =
      on_gil(pid, pid,
             {in_interpreter("PyGILState_Ensure"),
              in_torch_cuda("c10d::ProcessGroupNCCL::watchdogHandler"), in_libc("start_thread")});
  watchdog.has_python = false;
  watchdog.python_name = "";
  watchdog.name = "pt_nccl_watchdg";
  add_thread(job, 6, 7661, watchdog);
  return job;
}

// A destructor released the GIL and takes it again while it has the allocator's mutex.
CaptureBuilder allocator_and_gil() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(1);
  ThreadSpec main = on_gil(pid, 7671,
                           Frames{in_interpreter("PyEval_RestoreThread"),
                                  in_torch("c10::StorageImpl::release_resources")} +
                               part(47));
  replace(job, 1, main);
  ThreadSpec loader =
      on_lock(pid, pid, 0x7f7700,
              mutex() +
                  Frames{in_torch("c10::CachingHostAllocator::allocate"),
                         pkg_py("torch/utils/data/_utils/pin_memory.py", "_pin_memory_loop", 54)} +
                  thread_end());
  loader.holds_gil = true;
  loader.python_name = "Thread-4 (_pin_memory_loop)";
  add_thread(job, 1, 7671, loader);
  return job;
}

// The GIL's holder computes for a long time in C: slow, but no circle.
CaptureBuilder a_long_call_in_c() {
  CaptureBuilder job = job_with_locks();
  const pid_t pid = pid_of(6);
  ThreadSpec sorts = running(Frames{in_interpreter("list_sort_impl")} + part(20), 4'900'000);
  sorts.holds_gil = true;
  replace(job, 6, sorts);
  add_thread(job, 6, 7681,
             on_gil(pid, pid,
                    Frames{in_interpreter("PyEval_RestoreThread"),
                           user_py("tts/telemetry.py", "beat", 14)} +
                        thread_end()));
  return job;
}

}  // namespace

std::vector<Story> stories_of_locks() {
  return {
      {"two_mutexes", "two mutexes in two orders", Kind::kLockDeadlock, {5}, lock_deadlock_job},
      {"import_lock",
       "hangs.md D4: a thread that is joined at import",
       Kind::kLockDeadlock,
       {5},
       import_lock},
      {"finaliser",
       "D5, ucxx#449: __del__ inside of a `with lock`",
       Kind::kLockDeadlock,
       {2},
       finaliser},
      {"signal_handler",
       "D6: malloc in a signal handler",
       Kind::kLockDeadlock,
       {7},
       signal_handler},
      {"three_threads", "D3 with three threads", Kind::kLockDeadlock, {0}, three_threads},
      {"full_pool",
       "all threads of a pool wait for work in its queue",
       Kind::kLockDeadlock,
       {3},
       full_pool},
      {"loop_waits_for_itself",
       "run_coroutine_threadsafe().result() within the loop",
       Kind::kLockDeadlock,
       {6},
       loop_waits_for_itself},
      {"future_in_work",
       "the pool's only thread is at work",
       Kind::kBusyRank,
       {6},
       future_in_work,
       Kind::kLockDeadlock},
      {"the_owner_works",
       "a lock whose owner works",
       Kind::kBusyRank,
       {3},
       the_owner_works,
       Kind::kLockDeadlock},
      {"gil_and_mutex",
       "the GIL against the allocator's mutex",
       Kind::kGilDeadlock,
       {3},
       gil_deadlock_job},
      {"extension_joins",
       "hangs.md D1: an extension joins its thread",
       Kind::kGilDeadlock,
       {4},
       extension_joins},
      {"watchdog_wants_the_gil",
       "D2, pytorch#101463",
       Kind::kGilDeadlock,
       {6},
       watchdog_wants_the_gil},
      {"allocator_and_gil",
       "D1, pytorch#97833: the other way round",
       Kind::kGilDeadlock,
       {1},
       allocator_and_gil},
      {"a_long_call_in_c",
       "D1: the holder runs",
       Kind::kBusyRank,
       {6},
       a_long_call_in_c,
       Kind::kGilDeadlock},
  };
}

}  // namespace oddrank::tests
