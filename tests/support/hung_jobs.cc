#include "tests/support/hung_jobs.h"

#include <array>

namespace oddrank::tests {

using snapshot::CallKind;
using snapshot::WaitOn;

namespace {

constexpr std::string_view kLibc = "/usr/lib/x86_64-linux-gnu/libc.so.6";
constexpr std::string_view kPython = "/usr/bin/python3.11";
constexpr std::string_view kTorch =
    "/home/ada/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so";
constexpr std::string_view kTorchPython =
    "/home/ada/venv/lib/python3.11/site-packages/torch/lib/libtorch_python.so";
constexpr std::string_view kC10d =
    "/home/ada/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py";
constexpr std::string_view kLogger =
    "/home/ada/venv/lib/python3.11/site-packages/torch/distributed/c10d_logger.py";
constexpr std::string_view kLoader =
    "/home/ada/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py";
constexpr std::string_view kWorker =
    "/home/ada/venv/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py";
constexpr std::string_view kProgram = "/home/ada/demo/train.py";

// Returns the outermost frames of the main thread of a Python program.
Frames program(std::string_view function, std::uint32_t line) {
  return {
      py(function, kProgram, line),
      py("main", kProgram, 120),
      py("<module>", kProgram, 131),
      native("_PyEval_EvalFrameDefault", kPython),
      native("PyEval_EvalCode", kPython),
      native("Py_RunMain", kPython),
      native("__libc_start_call_main", kLibc),
      native("_start", kPython),
  };
}

Frames condition_wait() {
  return {
      native("__futex_abstimed_wait_common", kLibc),
      native("pthread_cond_wait@@GLIBC_2.3.2", kLibc),
      native("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
             "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"),
  };
}

Frames called_from_python() {
  return {
      native("_ZN8pybind1112cpp_function10dispatcherEP7_objectS2_S2_", kTorchPython),
      native("cfunction_call", kPython),
      native("_PyObject_MakeTpCall", kPython),
      native("_PyEval_EvalFrameDefault", kPython),
  };
}

// Returns gloo's background thread, which every rank has.
ThreadSpec gloo_loop() {
  ThreadSpec spec;
  spec.frames = {
      native("epoll_wait", kLibc),
      native("_ZN4gloo9transport3tcp4Loop3runEv", kTorch),
      native("execute_native_thread_routine", kTorch),
      native("start_thread", kLibc),
      native("clone3", kLibc),
  };
  spec.name = "pt_gloo_runloop";
  spec.has_python = false;
  spec.wait.on = WaitOn::kSocket;
  spec.wait.syscall = "epoll_wait";
  return spec;
}

}  // namespace

pid_t pid_of(std::int32_t rank) {
  return 3000 + rank;
}

std::string_view host_of(std::int32_t rank) {
  constexpr std::array<std::string_view, 4> kHosts = {"n0", "n1", "n2", "n3"};
  return kHosts[static_cast<std::size_t>(rank / 2) % kHosts.size()];
}

CaptureBuilder ranks_in_all_reduce(int hosts, int per_host) {
  std::vector<std::string> names;
  for (int host = 0; host < hosts; ++host) {
    names.push_back("n" + std::to_string(host));
  }
  CaptureBuilder job(names, hosts * per_host);
  for (std::int32_t rank = 0; rank < hosts * per_host; ++rank) {
    auto& process = job.rank(rank, names[static_cast<std::size_t>(rank / per_host)], pid_of(rank));
    job.thread(process, in_all_reduce());
  }
  return job;
}

ThreadSpec in_all_reduce() {
  ThreadSpec spec;
  spec.frames =
      condition_wait() +
      Frames{native("_ZN4c10d4Work4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE", kTorch)} +
      called_from_python() + Frames{py("all_reduce", kC10d, 3170), py("wrapper", kLogger, 83)} +
      program("average_gradients", 88);
  spec.wait.on = WaitOn::kCollective;
  spec.wait.syscall = "futex";
  CallSpec call;
  call.op = "all_reduce";
  call.whole_world = true;
  call.evidence = "frame all_reduce (distributed_c10d.py:3170), group=None";
  spec.call = call;
  return spec;
}

ThreadSpec in_loader(pid_t worker) {
  ThreadSpec spec;
  spec.frames =
      Frames{native("__GI___poll", kLibc),
             native("select_poll_poll",
                    "/usr/lib/python3.11/lib-dynload/select.cpython-311-x86_64-linux-gnu.so"),
             native("_PyEval_EvalFrameDefault", kPython),
             py("PollSelector.select", "/usr/lib/python3.11/selectors.py", 415),
             py("wait", "/usr/lib/python3.11/multiprocessing/connection.py", 930),
             py("Connection._poll", "/usr/lib/python3.11/multiprocessing/connection.py", 423),
             py("Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", 113),
             py("_MultiProcessingDataLoaderIter._try_get_data", kLoader, 1310),
             py("_MultiProcessingDataLoaderIter._get_data", kLoader, 1472),
             py("_MultiProcessingDataLoaderIter._next_data", kLoader, 1501),
             py("_BaseDataLoaderIter.__next__", kLoader, 741)} +
      program("train", 70);
  spec.wait.on = WaitOn::kInput;
  spec.wait.syscall = "poll";
  spec.wait.holder_pid = worker;
  spec.wait.detail = "DataLoader worker pid " + std::to_string(worker);
  return spec;
}

ThreadSpec sleeping() {
  ThreadSpec spec;
  spec.frames = Frames{native("clock_nanosleep@@GLIBC_2.17", kLibc), native("time_sleep", kPython),
                       native("_PyEval_EvalFrameDefault", kPython)} +
                program("log_metrics", 95);
  spec.wait.syscall = "clock_nanosleep";
  spec.wait.wchan = "hrtimer_nanosleep";
  return spec;
}

ThreadSpec computing() {
  ThreadSpec spec;
  spec.frames = Frames{py("compile_kernels", kProgram, 51)} + program("train_step", 82);
  spec.state = 'R';
  spec.cpu_step_us = 480'000;
  spec.wait.on = WaitOn::kNothing;
  return spec;
}

ThreadSpec training_on() {
  ThreadSpec spec = computing();
  spec.earlier = program("forward", 77);
  return spec;
}

ThreadSpec waiting_on(WaitOn on, std::string path) {
  ThreadSpec spec = sleeping();
  spec.frames = {py("do_it", kProgram, 7)};
  spec.wait = {};
  spec.wait.on = on;
  spec.wait.path = std::move(path);
  return spec;
}

ThreadSpec in_store() {
  ThreadSpec spec;
  spec.frames =
      Frames{native("recv", kLibc), native("_ZN4c10d8TCPStore6doWaitEv", kTorch)} +
      called_from_python() +
      Frames{py("_store_based_barrier", kC10d, 966), py("init_process_group", kC10d, 1767)} +
      program("setup", 30);
  spec.wait.on = WaitOn::kRendezvous;
  spec.wait.syscall = "recvfrom";
  CallSpec call;
  call.kind = CallKind::kRendezvous;
  call.op = "init_process_group";
  call.evidence = "frame init_process_group (distributed_c10d.py:1767)";
  spec.call = call;
  return spec;
}

ThreadSpec at_python_lock() {
  ThreadSpec spec = waiting_on(WaitOn::kLock);
  spec.wait.how = snapshot::WaitHow::kPythonLock;
  return spec;
}

ThreadSpec asking_rank(std::int32_t server) {
  ThreadSpec spec = waiting_on(WaitOn::kSocket, "socket:[7]");
  spec.wait.holder_pid = pid_of(server);
  spec.wait.holder_alive = snapshot::Known::kYes;
  return spec;
}

CaptureBuilder eight_ranks(const ThreadSpec& spec) {
  CaptureBuilder job({"n0", "n1", "n2", "n3"}, 8);
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    auto& process = job.rank(rank, host_of(rank), pid_of(rank));
    job.thread(process, spec);
    job.thread(process, gloo_loop());
  }
  return job;
}

void replace(CaptureBuilder& job, std::int32_t rank, const ThreadSpec& spec) {
  auto& process = job.process(pid_of(rank));
  auto threads = std::move(process.threads);
  process.threads.clear();
  job.thread(process, spec);
  process.threads.insert(process.threads.end(), threads.begin() + 1, threads.end());
}

CaptureBuilder input_stall_job() {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, in_loader(3380));
  ThreadSpec worker;
  worker.frames = {
      native("__GI___read", kLibc),
      native("_Py_read", kPython),
      native("_PyEval_EvalFrameDefault", kPython),
      py("read_shard", kProgram, 17),
      py("Shards.__getitem__", kProgram, 24),
      py("_worker_loop", kWorker, 349),
      py("BaseProcess._bootstrap", "/usr/lib/python3.11/multiprocessing/process.py", 314),
  };
  worker.name = "pt_data_worker";
  worker.wait.on = WaitOn::kFile;
  worker.wait.syscall = "read";
  worker.wait.path = "/home/ada/demo/data/shard-5.tar";
  worker.wait.wchan = "pipe_read";
  worker.wait.fd = 7;
  job.thread(job.child(pid_of(5), host_of(5), 3380), worker);
  return job;
}

CaptureBuilder skipped_collective_job() {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 3, sleeping());
  return job;
}

CaptureBuilder missing_rank_job() {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  job.remove(pid_of(7));
  return job;
}

CaptureBuilder stopped_rank_job() {
  ThreadSpec stopped = in_all_reduce();
  stopped.state = 'T';
  stopped.wait.on = WaitOn::kSignal;
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 2, stopped);
  return job;
}

CaptureBuilder unread_node_job() {
  CaptureBuilder job = input_stall_job();
  job.silence("n2", "node did not answer in 20 s");
  return job;
}

CaptureBuilder below_host_job() {
  ThreadSpec spec = in_all_reduce();
  spec.call->sequence = 1207;
  return eight_ranks(spec);
}

void add_locals(
    CaptureBuilder& job,
    const std::function<std::vector<std::pair<std::string, std::string>>(std::int32_t)>& of_rank) {
  auto& tables = job.capture.tables;
  for (snapshot::ProcessCapture& process : job.capture.processes) {
    if (!process.is_rank) {
      continue;
    }
    snapshot::ThreadCapture& thread = process.threads.front();
    const auto& frames = tables.stacks()[thread.samples.back().stack].frames;
    snapshot::FrameLocals row;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (tables.frames()[frames[i]].kind == snapshot::FrameKind::kPython) {
        row.frame = static_cast<std::uint32_t>(i);  // the outermost
      }
    }
    for (const auto& [name, value] : of_rank(process.rank)) {
      row.locals.push_back({tables.string(name), tables.string(value)});
    }
    thread.locals.push_back(std::move(row));
  }
}

CaptureBuilder loop_skew_job() {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  add_locals(job, [](std::int32_t rank) {
    return std::vector<std::pair<std::string, std::string>>{
        {"rank", std::to_string(rank)}, {"step", rank == 5 ? "1206" : "1207"}, {"epoch", "3"}};
  });
  return job;
}

CaptureBuilder late_loader_job() {
  CaptureBuilder job = input_stall_job();
  add_locals(job, [](std::int32_t rank) {
    return std::vector<std::pair<std::string, std::string>>{{"step", rank == 5 ? "1206" : "1207"}};
  });
  return job;
}

CaptureBuilder healthy_job() {
  CaptureBuilder job = eight_ranks(training_on());
  ThreadSpec arrived = in_all_reduce();
  arrived.earlier = computing().frames;
  arrived.cpu_step_us = 210'000;
  for (const std::int32_t rank : {0, 3, 4}) {
    replace(job, rank, arrived);
  }
  return job;
}

CaptureBuilder unknown_job() {
  CaptureBuilder job = eight_ranks(sleeping());
  ThreadSpec spec = in_all_reduce();
  spec.call->whole_world = false;
  spec.call->evidence = "frame all_reduce (distributed_c10d.py:3170)";
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    replace(job, rank, spec);
  }
  return job;
}

CaptureBuilder io_stall_job() {
  ThreadSpec spec;
  spec.frames = Frames{native("__GI___write", kLibc), native("_Py_write", kPython),
                       native("_PyEval_EvalFrameDefault", kPython)} +
                program("save_checkpoint", 101);
  spec.state = 'D';
  spec.wait.on = WaitOn::kFile;
  spec.wait.syscall = "write";
  spec.wait.path = "/mnt/ckpt/step-1200/rank6.pt";
  spec.wait.wchan = "nfs_wait_bit_killable";
  spec.wait.fd = 9;
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 6, spec);
  return job;
}

CaptureBuilder busy_rank_job() {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 1, computing());
  return job;
}

CaptureBuilder rendezvous_job() {
  CaptureBuilder job = eight_ranks(in_store());
  job.remove(pid_of(7));
  return job;
}

CaptureBuilder child_deadlock_job() {
  CaptureBuilder job = input_stall_job();
  auto& worker = job.process(3380);
  worker.threads.clear();
  worker.state = 'Z';
  worker.exit_code = 9;
  worker.read = snapshot::ReadState::kNone;
  job.process(pid_of(5)).threads[0].wait.holder_alive = snapshot::Known::kNo;
  return job;
}

namespace {

// Returns a thread that waits for a lock that another thread of its rank holds.
ThreadSpec wants_lock(std::int32_t rank, pid_t holder, std::uint64_t address, Frames outer) {
  ThreadSpec spec;
  spec.frames = Frames{native("__futex_abstimed_wait_common", kLibc),
                       native("___pthread_mutex_lock", kLibc)} +
                std::move(outer);
  spec.wait.on = WaitOn::kLock;
  spec.wait.syscall = "futex";
  spec.wait.holder_pid = pid_of(rank);
  spec.wait.holder_tid = holder;
  spec.wait.holder_alive = snapshot::Known::kYes;
  spec.wait.address = address;
  spec.wait.how = snapshot::WaitHow::kLock;
  spec.wait.lock.kind = snapshot::LockKind::kMutex;
  spec.wait.lock.owner = snapshot::LockOwner::kThread;
  return spec;
}

Frames writer_thread(std::string_view function, std::uint32_t line) {
  return {py(function, kProgram, line), native("_PyEval_EvalFrameDefault", kPython),
          native("start_thread", kLibc), native("clone3", kLibc)};
}

}  // namespace

CaptureBuilder lock_deadlock_job() {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, wants_lock(5, 3155, 0x55d0c0, program("save_checkpoint", 101)));
  ThreadSpec writer = wants_lock(5, pid_of(5), 0x55d100, writer_thread("write_shards", 61));
  writer.python_name = "Thread-3 (write_shards)";
  job.thread(job.process(pid_of(5)), writer).tid = 3155;
  return job;
}

CaptureBuilder gil_deadlock_job() {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  ThreadSpec main = wants_lock(3, 3133, 0x7f2040, program("allocate", 44));
  main.holds_gil = true;
  replace(job, 3, main);
  ThreadSpec other = wants_lock(3, pid_of(3), 0x9a5e20, {});
  other.frames = {native("__futex_abstimed_wait_common", kLibc),
                  native("pthread_cond_timedwait@@GLIBC_2.3.2", kLibc),
                  native("take_gil", kPython),
                  native("PyGILState_Ensure", kPython),
                  native("_ZN3c1016StackContextImplD2Ev", kTorchPython),
                  native("start_thread", kLibc)};
  other.wait.on = WaitOn::kGil;
  other.wait.how = snapshot::WaitHow::kGil;
  other.switch_step = 100;
  other.has_python = false;
  other.name = "allocator";
  other.python_name = "";
  job.thread(job.process(pid_of(3)), other).tid = 3133;
  return job;
}

// Returns two stages of a pipeline, each a tensor group of four. Stage 0 ranks 0, 1, 3 broadcast
// their batch and wait for rank 2; stage 1 waits to receive from stage 0.
CaptureBuilder three_dimensional_job() {
  CaptureBuilder job = input_stall_job();
  ThreadSpec broadcast = in_all_reduce();
  broadcast.call = CallSpec{};
  broadcast.call->op = "broadcast";
  broadcast.call->group = "tp#0";
  broadcast.call->members = {0, 1, 2, 3};
  broadcast.call->evidence = "frame broadcast (distributed_c10d.py:2870), group=tp#0";
  for (const std::int32_t rank : {0, 1, 3}) {
    replace(job, rank, broadcast);
  }
  replace(job, 2, in_loader(3380));
  job.process(3380).owner = pid_of(2);
  job.process(3380).parent = pid_of(2);
  job.process(3380).node = job.process(pid_of(2)).node;
  for (std::int32_t rank = 4; rank < 8; ++rank) {
    ThreadSpec receive = in_all_reduce();
    receive.call = CallSpec{};
    receive.call->kind = CallKind::kRecv;
    receive.call->op = "recv";
    receive.call->group = "pp#" + std::to_string(rank - 4);
    receive.call->peer = rank - 4;
    replace(job, rank, receive);
  }
  return job;
}

std::vector<HungJob> hung_jobs() {
  return {
      {"input_stall", input_stall_job},
      {"skipped_collective", skipped_collective_job},
      {"missing_rank", missing_rank_job},
      {"stopped_rank", stopped_rank_job},
      {"unread_node", unread_node_job},
      {"below_host", below_host_job},
      {"loop_skew", loop_skew_job},
      {"healthy", healthy_job},
      {"unknown", unknown_job},
      {"io_stall", io_stall_job},
      {"busy_rank", busy_rank_job},
      {"rendezvous", rendezvous_job},
      {"child_deadlock", child_deadlock_job},
      {"lock_deadlock", lock_deadlock_job},
      {"gil_deadlock", gil_deadlock_job},
      {"three_dimensional", three_dimensional_job},
  };
}

}  // namespace oddrank::tests
