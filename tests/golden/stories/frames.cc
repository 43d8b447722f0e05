#include "tests/golden/stories/frames.h"

#include <algorithm>
#include <string>

namespace oddrank::tests {

using snapshot::CallKind;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::WaitOn;

namespace {

constexpr std::string_view kPackages = "/home/ada/venv/lib/python3.11/site-packages/";
constexpr std::string_view kStandard = "/usr/lib/python3.11/";
constexpr std::string_view kHome = "/home/ada/";
constexpr std::string_view kSystem = "/usr/lib/x86_64-linux-gnu/";

std::string path(std::string_view folder, std::string_view file) {
  return std::string(folder) + std::string(file);
}

// Returns an idle thread of a library; every rank has such threads.
ThreadSpec background(std::string_view name, Frames frames, std::string_view syscall) {
  ThreadSpec spec;
  spec.frames = std::move(frames) + Frames{native("start_thread", path(kSystem, "libc.so.6")),
                                           native("clone3", path(kSystem, "libc.so.6"))};
  spec.name = name;
  spec.has_python = false;
  spec.python_name = "";
  spec.wait.on = WaitOn::kUnknown;
  spec.wait.syscall = syscall;
  return spec;
}

std::vector<ThreadSpec> beside(Backend backend) {
  if (backend == Backend::kGloo) {
    return {background("pt_gloo_runloop",
                       {in_libc("epoll_wait"), in_torch("gloo::transport::tcp::Loop::run")},
                       "epoll_wait")};
  }
  return {
      background("pt_nccl_watchdg",
                 futex_wait() + Frames{in_torch_cuda("c10d::ProcessGroupNCCL::watchdogHandler")},
                 "futex"),
      background("pt_nccl_heartbt",
                 futex_wait() + Frames{in_torch_cuda("c10d::ProcessGroupNCCL::heartbeatMonitor")},
                 "futex"),
      background("cuda-EvtHandlr", {in_libc("__GI___poll"), in_driver("")}, "poll")};
}

Frames distributed(std::string_view op) {
  return {pkg_py("torch/distributed/distributed_c10d.py", op, 3170),
          pkg_py("torch/distributed/c10d_logger.py", "wrapper", 83)};
}

Frames pybind() {
  return {native("_ZN8pybind1112cpp_function10dispatcherEP7_objectS2_S2_",
                 path(kPackages, "torch/lib/libtorch_python.so")),
          in_interpreter("cfunction_call"), in_interpreter("_PyEval_EvalFrameDefault")};
}

}  // namespace

std::string mangled(std::string_view name) {
  std::string result = "_ZN";
  while (!name.empty()) {
    const auto end = std::min(name.find("::"), name.size());
    result += std::to_string(end) + std::string(name.substr(0, end));
    name.remove_prefix(std::min(name.size(), end + 2));
  }
  return result + "Ev";
}

FrameSpec in_libc(std::string_view symbol) {
  return native(symbol, path(kSystem, "libc.so.6"));
}

FrameSpec in_interpreter(std::string_view symbol) {
  return native(symbol, "/usr/bin/python3.11");
}

FrameSpec in_torch(std::string_view name) {
  return native(mangled(name), path(kPackages, "torch/lib/libtorch_cpu.so"));
}

FrameSpec in_torch_cuda(std::string_view name) {
  return native(mangled(name), path(kPackages, "torch/lib/libtorch_cuda.so"));
}

FrameSpec in_nccl(std::string_view symbol) {
  return native(symbol, path(kPackages, "nvidia/nccl/lib/libnccl.so.2"));
}

FrameSpec in_driver(std::string_view symbol) {
  return native(symbol, path(kSystem, "libcuda.so.550.54.15"));
}

FrameSpec in_cudart(std::string_view symbol) {
  return native(symbol, path(kPackages, "nvidia/cuda_runtime/lib/libcudart.so.12"));
}

FrameSpec std_py(std::string_view file, std::string_view function, std::uint32_t line) {
  return py(function, path(kStandard, file), line);
}

FrameSpec pkg_py(std::string_view file, std::string_view function, std::uint32_t line) {
  return py(function, path(kPackages, file), line);
}

FrameSpec user_py(std::string_view file, std::string_view function, std::uint32_t line) {
  return py(function, path(kHome, file), line);
}

Frames futex_wait() {
  return {in_libc("__futex_abstimed_wait_common"), in_libc("pthread_cond_wait@@GLIBC_2.3.2"),
          native("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
                 path(kSystem, "libstdc++.so.6"))};
}

Frames stream_wait() {
  return {in_libc("sched_yield"), in_driver(""), in_driver("cuStreamSynchronize"),
          in_cudart("cudaStreamSynchronize")};
}

Frames python_sleep() {
  return {in_libc("clock_nanosleep@@GLIBC_2.17"), in_interpreter("time_sleep"),
          in_interpreter("_PyEval_EvalFrameDefault")};
}

Frames module_end() {
  return {in_interpreter("_PyEval_EvalFrameDefault"), in_interpreter("PyEval_EvalCode"),
          in_interpreter("Py_RunMain"), in_libc("__libc_start_call_main"),
          in_interpreter("_start")};
}

Frames thread_end() {
  return {std_py("threading.py", "Thread.run", 982),
          std_py("threading.py", "Thread._bootstrap_inner", 1045),
          std_py("threading.py", "Thread._bootstrap", 1002),
          in_interpreter("_PyEval_EvalFrameDefault"),
          in_interpreter("thread_run"),
          in_libc("start_thread"),
          in_libc("clone3")};
}

Frames program_at(std::string_view file,
                  const std::vector<std::pair<std::string_view, std::uint32_t>>& calls) {
  Frames frames;
  for (const auto& [function, line] : calls) {
    frames.push_back(user_py(file, function, line));
  }
  return frames + module_end();
}

ThreadSpec blocked(WaitOn on, std::string_view syscall, Frames frames) {
  ThreadSpec spec;
  spec.frames = std::move(frames);
  spec.wait.on = on;
  spec.wait.syscall = syscall;
  return spec;
}

ThreadSpec running(Frames frames, std::uint64_t cpu_us) {
  ThreadSpec spec;
  spec.frames = std::move(frames);
  spec.state = 'R';
  spec.cpu_step_us = cpu_us;
  spec.wait.on = WaitOn::kNothing;
  return spec;
}

ThreadSpec elsewhere_before(ThreadSpec spec, Frames earlier) {
  spec.earlier = std::move(earlier);
  spec.cpu_step_us = std::max<std::uint64_t>(spec.cpu_step_us, 190'000);
  return spec;
}

CallSpec world_call(std::string_view op, std::int64_t sequence) {
  CallSpec call;
  call.op = op;
  call.whole_world = true;
  call.sequence = sequence;
  call.evidence = "frame " + std::string(op) + " (distributed_c10d.py:3170), group=None";
  return call;
}

CallSpec group_call(std::string_view op,
                    std::string_view group,
                    std::vector<std::int32_t> members,
                    std::int64_t sequence) {
  CallSpec call;
  call.op = op;
  call.group = group;
  call.members = std::move(members);
  call.sequence = sequence;
  call.evidence = "frame " + std::string(op) + " (distributed_c10d.py:3170), group " + call.group;
  return call;
}

CallSpec unknown_call(std::string_view op) {
  CallSpec call;
  call.op = op;
  call.evidence = "frame " + std::string(op) + " (distributed_c10d.py:3170)";
  return call;
}

CallSpec transfer(CallKind kind, std::int32_t peer) {
  CallSpec call;
  call.kind = kind;
  call.op = kind == CallKind::kSend ? "send" : "recv";
  call.peer = peer;
  call.evidence = "frame " + call.op + " (distributed_c10d.py:2240)";
  return call;
}

ThreadSpec in_gloo(CallSpec call, const Frames& outer) {
  ThreadSpec spec = blocked(WaitOn::kCollective, "futex",
                            futex_wait() + Frames{in_torch("c10d::Work::wait")} + pybind() +
                                distributed(call.op) + outer);
  spec.call = std::move(call);
  return spec;
}

ThreadSpec in_nccl_call(CallSpec call, const Frames& outer) {
  ThreadSpec spec =
      running(stream_wait() +
                  Frames{in_torch_cuda("c10d::ProcessGroupNCCL::WorkNCCL::synchronizeInternal")} +
                  pybind() + distributed(call.op) + outer,
              500'000);
  spec.wait.on = WaitOn::kCollective;
  spec.call = std::move(call);
  return spec;
}

ThreadSpec in_ddp_backward(const Frames& outer) {
  ThreadSpec spec = blocked(
      WaitOn::kCollective, "futex",
      futex_wait() +
          Frames{in_torch("c10d::Reducer::finalize_backward"),
                 in_torch("torch::autograd::Engine::thread_main"),
                 native("_Z23THPEngine_run_backwardP7_objectS0_S0_",
                        path(kPackages, "torch/lib/libtorch_python.so")),
                 in_interpreter("cfunction_call"), in_interpreter("_PyEval_EvalFrameDefault"),
                 pkg_py("torch/autograd/__init__.py", "backward", 251),
                 pkg_py("torch/_tensor.py", "Tensor.backward", 522)} +
          outer);
  spec.call = world_call("all_reduce");
  spec.call->evidence = "native frame c10d::Reducer::finalize_backward; DDP over the default group";
  return spec;
}

ThreadSpec in_comm_init(const Frames& outer) {
  ThreadSpec spec = blocked(
      WaitOn::kRendezvous, "poll",
      Frames{in_libc("__GI___poll"), in_nccl("bootstrapAllGather"), in_nccl("initTransportsRank"),
             in_nccl("ncclCommInitRankFunc"), in_nccl("ncclCommInitRankConfig"),
             in_torch_cuda("c10d::ProcessGroupNCCL::initNCCLComm")} +
          pybind() + distributed("barrier") + outer);
  CallSpec call;
  call.kind = CallKind::kRendezvous;
  call.op = "ncclCommInitRank";
  call.evidence = "native frame ncclCommInitRankConfig";
  spec.call = call;
  return spec;
}

ThreadSpec at_loader(pid_t worker, const Frames& outer) {
  ThreadSpec spec = blocked(
      WaitOn::kInput, "poll",
      Frames{in_libc("__GI___poll"), in_interpreter("_PyEval_EvalFrameDefault"),
             std_py("selectors.py", "PollSelector.select", 415),
             std_py("multiprocessing/connection.py", "wait", 930),
             std_py("multiprocessing/connection.py", "Connection._poll", 423),
             std_py("multiprocessing/queues.py", "Queue.get", 113),
             pkg_py("torch/utils/data/dataloader.py",
                    "_MultiProcessingDataLoaderIter._try_get_data", 1310),
             pkg_py("torch/utils/data/dataloader.py", "_BaseDataLoaderIter.__next__", 741)} +
          outer);
  spec.wait.holder_pid = worker;
  return spec;
}

ThreadSpec on_lock(pid_t pid, pid_t holder, std::uint64_t address, Frames frames) {
  ThreadSpec spec = blocked(WaitOn::kLock, "futex", std::move(frames));
  spec.wait.address = address;
  if (holder != 0) {
    spec.wait.holder_pid = pid;
    spec.wait.holder_tid = holder;
    spec.wait.holder_alive = Known::kYes;
    spec.wait.how = snapshot::WaitHow::kLock;
    spec.wait.lock.kind = snapshot::LockKind::kMutex;
    spec.wait.lock.owner = snapshot::LockOwner::kThread;
  }
  return spec;
}

ThreadSpec on_gil(pid_t pid, pid_t holder, const Frames& frames) {
  ThreadSpec spec =
      blocked(WaitOn::kGil, "futex",
              Frames{in_libc("__futex_abstimed_wait_common"),
                     in_libc("pthread_cond_timedwait@@GLIBC_2.3.2"), in_interpreter("take_gil")} +
                  frames);
  spec.wait.holder_pid = pid;
  spec.wait.holder_tid = holder;
  spec.wait.holder_alive = Known::kYes;
  spec.wait.how = snapshot::WaitHow::kGil;
  spec.wait.lock.owner = snapshot::LockOwner::kThread;
  spec.wait.limited = true;
  spec.switch_step = 100;
  return spec;
}

CaptureBuilder job_of(std::int32_t nodes,
                      std::int32_t per_node,
                      Backend backend,
                      const ThreadSpec& spec,
                      std::size_t samples) {
  std::vector<std::string> hosts;
  hosts.reserve(static_cast<std::size_t>(nodes));
  for (std::int32_t node = 0; node < nodes; ++node) {
    hosts.push_back((node < 9 ? "gpu0" : "gpu") + std::to_string(node + 1));
  }
  CaptureBuilder job(hosts, nodes * per_node);
  job.samples = samples;
  for (std::int32_t rank = 0; rank < nodes * per_node; ++rank) {
    auto& process = job.rank(rank, hosts[static_cast<std::size_t>(rank / per_node)], pid_of(rank));
    process.local_rank = rank % per_node;
    job.thread(process, spec);
    for (const ThreadSpec& thread : beside(backend)) {
      job.thread(process, thread);
    }
  }
  return job;
}

void expect_ranks(CaptureBuilder& job, std::int32_t per_node) {
  std::int32_t rank = 0;
  for (snapshot::NodeCapture& node : job.capture.nodes) {
    for (std::int32_t local = 0; local < per_node; ++local) {
      node.expected_ranks.push_back(rank++);
    }
  }
}

void replace_all(CaptureBuilder& job,
                 const std::vector<std::int32_t>& ranks,
                 const ThreadSpec& spec) {
  for (const std::int32_t rank : ranks) {
    replace(job, rank, spec);
  }
}

ProcessCapture& add_child(CaptureBuilder& job,
                          std::int32_t rank,
                          pid_t pid,
                          const ThreadSpec& spec) {
  const std::uint32_t node = job.process(pid_of(rank)).node;
  const std::string host = job.capture.nodes[node].host;
  ProcessCapture& child = job.child(pid_of(rank), host, pid);
  job.thread(child, spec);
  return child;
}

void add_thread(CaptureBuilder& job, std::int32_t rank, pid_t tid, const ThreadSpec& spec) {
  job.thread(job.process(pid_of(rank)), spec).tid = tid;
}

void set_variable(CaptureBuilder& job,
                  std::int32_t rank,
                  std::string_view name,
                  std::string_view value) {
  auto& tables = job.capture.tables;
  job.process(pid_of(rank)).environment.emplace_back(tables.string(name), tables.string(value));
}

void set_peer(CaptureBuilder& job,
              std::int32_t rank,
              std::string_view local,
              std::string_view peer,
              const Silence& silence) {
  constexpr std::uint8_t kEstablished = 1;  // include/net/tcp_states.h
  auto& tables = job.capture.tables;
  auto& process = job.process(pid_of(rank));
  snapshot::Wait& wait = process.threads.front().wait;
  wait.rare.edit().local = tables.string(local);
  wait.rare.edit().peer = tables.string(peer);
  wait.rare.edit().awaited.resize(1);
  wait.rare.edit().awaited_count = 1;
  snapshot::AwaitedFile& file = wait.rare.edit().awaited.front();
  file.local = wait.rare->local;
  file.peer = wait.rare->peer;
  file.state = kEstablished;
  file.received_ms = silence.received_s * 1000;
  file.sent_ms = silence.sent_s * 1000;
  file.tls = silence.tls;
  process.connections.push_back({wait.rare->local, wait.rare->peer});
}

void lose(CaptureBuilder& job, std::int32_t from, std::int32_t to, const Loss& loss) {
  constexpr std::int64_t kCarried = 48'000;  // bytes each way, before
  auto& tables = job.capture.tables;
  const auto local =
      tables.string("10.0.0." + std::to_string(from + 10) + ":43" + std::to_string(100 + to));
  const auto peer = tables.string("10.0.0." + std::to_string(to + 10) + ":35275");
  job.process(pid_of(from)).connections.push_back({local, peer});
  job.process(pid_of(to)).connections.push_back({peer, local});
  snapshot::Transfer transfer;
  transfer.local = local;
  transfer.peer = peer;
  transfer.device = tables.string("eth0");
  transfer.trouble = loss.trouble;
  transfer.tries = loss.tries;
  transfer.age_ms = loss.age_ms;
  transfer.unsent = 96;
  if (loss.counted) {
    transfer.acknowledged = kCarried;
    transfer.received = kCarried + loss.got_by_first;
  }
  job.process(pid_of(from)).transfers.push_back(transfer);
  if (loss.both) {
    std::swap(transfer.local, transfer.peer);
    transfer.age_ms -= 100;
    transfer.received = loss.counted ? kCarried : -1;
    job.process(pid_of(to)).transfers.push_back(transfer);
  }
}

void add_gpus(CaptureBuilder& job,
              std::int32_t ranks,
              std::int32_t per_host,
              const std::function<void(snapshot::Device&, std::int32_t)>& describe) {
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    snapshot::Device gpu;
    gpu.node = job.process(pid_of(rank)).node;
    gpu.index = rank % per_host;
    gpu.pids = {pid_of(rank)};
    describe(gpu, rank);
    job.capture.collectives.devices.push_back(gpu);
  }
}

void add_failed_gpu(CaptureBuilder& job,
                    std::int32_t ranks,
                    std::int32_t per_host,
                    std::int32_t failed,
                    std::int32_t xid,
                    std::int64_t ago_s) {
  add_gpus(job, ranks, per_host, [&](snapshot::Device& gpu, std::int32_t rank) {
    gpu.xid = rank == failed ? xid : 0;
    gpu.xid_ago_s = rank == failed ? ago_s : -1;
  });
}

}  // namespace oddrank::tests
