// Frames, threads and jobs as they look in real captures of training jobs: the vocabulary of the
// stories.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/capture_builder.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::tests {

// --- frames ---
// "a::B::c" -> "_ZN1a1B1cEv": symbols are mangled in a capture.
std::string mangled(std::string_view name);
FrameSpec in_libc(std::string_view symbol);
FrameSpec in_interpreter(std::string_view symbol);
FrameSpec in_torch(std::string_view name);  // libtorch_cpu.so; mangled
FrameSpec in_torch_cuda(std::string_view name);
FrameSpec in_nccl(std::string_view symbol);
FrameSpec in_driver(std::string_view symbol);  // libcuda.so
FrameSpec in_cudart(std::string_view symbol);
FrameSpec std_py(std::string_view file, std::string_view function, std::uint32_t line);
FrameSpec pkg_py(std::string_view file, std::string_view function, std::uint32_t line);
FrameSpec user_py(std::string_view file, std::string_view function, std::uint32_t line);

Frames futex_wait();    // pthread_cond_wait
Frames stream_wait();   // cudaStreamSynchronize
Frames python_sleep();  // time.sleep
Frames module_end();    // the frames below <module> of the main thread
Frames thread_end();    // the frames below a Python thread's run()

// Returns the program's own frames of a main thread, innermost first.
Frames program_at(std::string_view file,
                  const std::vector<std::pair<std::string_view, std::uint32_t>>& calls);

// Adds the GPU of each rank, which `describe` fills in.
void add_gpus(CaptureBuilder& job,
              std::int32_t ranks,
              std::int32_t per_host,
              const std::function<void(snapshot::Device&, std::int32_t)>& describe);
// The GPU of one rank has had this error, some seconds ago; those of the others none.
void add_failed_gpu(CaptureBuilder& job,
                    std::int32_t ranks,
                    std::int32_t per_host,
                    std::int32_t failed,
                    std::int32_t xid,
                    std::int64_t ago_s);

// --- threads ---
ThreadSpec blocked(snapshot::WaitOn on, std::string_view syscall, Frames frames);
ThreadSpec running(Frames frames, std::uint64_t cpu_us);  // R, at one place
ThreadSpec elsewhere_before(ThreadSpec spec, Frames earlier);

CallSpec world_call(std::string_view op, std::int64_t sequence = -1);
CallSpec group_call(std::string_view op,
                    std::string_view group,
                    std::vector<std::int32_t> members,
                    std::int64_t sequence = -1);
CallSpec unknown_call(std::string_view op);
CallSpec transfer(snapshot::CallKind kind, std::int32_t peer);

// Returns a thread in a call of gloo's, whose futex sleeps; or of NCCL's, which spins on the
// device.
ThreadSpec in_gloo(CallSpec call, const Frames& outer);
ThreadSpec in_nccl_call(CallSpec call, const Frames& outer);
// Autograd's hooks wait for the gradients' all_reduce: no frame of torch.distributed exists.
ThreadSpec in_ddp_backward(const Frames& outer);
ThreadSpec in_comm_init(const Frames& outer);  // ncclCommInitRank, waits for the other ranks
ThreadSpec at_loader(pid_t worker, const Frames& outer);
// Returns a thread that waits for a lock that thread `holder` of process `pid` has; 0: unknown.
ThreadSpec on_lock(pid_t pid, pid_t holder, std::uint64_t address, Frames frames);
ThreadSpec on_gil(pid_t pid, pid_t holder, const Frames& frames);

// --- jobs ---
enum class Backend { kGloo, kNccl };

// Returns nodes * per_node ranks, rank r with pid_of(r), each with this main thread and its
// backend's own threads.
CaptureBuilder job_of(std::int32_t nodes,
                      std::int32_t per_node,
                      Backend backend,
                      const ThreadSpec& spec,
                      std::size_t samples = 2);
// Marks the job as started with srun, which says where each rank belongs.
void expect_ranks(CaptureBuilder& job, std::int32_t per_node);
void replace_all(CaptureBuilder& job,
                 const std::vector<std::int32_t>& ranks,
                 const ThreadSpec& spec);
// Adds a child of a rank, with its main thread.
snapshot::ProcessCapture& add_child(CaptureBuilder& job,
                                    std::int32_t rank,
                                    pid_t pid,
                                    const ThreadSpec& spec);
// Adds another thread to a rank.
void add_thread(CaptureBuilder& job, std::int32_t rank, pid_t tid, const ThreadSpec& spec);
void set_variable(CaptureBuilder& job,
                  std::int32_t rank,
                  std::string_view name,
                  std::string_view value);
struct Silence {
  std::int64_t received_s = 0;
  std::int64_t sent_s = 0;
  bool tls = false;
};
// Adds both ends of a TCP connection; the main thread waits for the other end.
void set_peer(CaptureBuilder& job,
              std::int32_t rank,
              std::string_view local,
              std::string_view peer,
              const Silence& silence);

struct Loss {
  snapshot::TransferTrouble trouble = snapshot::TransferTrouble::kUnanswered;
  bool both = false;  // both ranks send in vain
  std::uint32_t tries = 6;
  std::int64_t age_ms = 25'000;
  bool counted = false;           // the bytes are known
  std::int64_t got_by_first = 0;  // bytes that arrived there, though the second one does not know
};
// Adds a connection between two ranks on which what the first one sends does not get through.
void lose(CaptureBuilder& job, std::int32_t from, std::int32_t to, const Loss& loss);

}  // namespace oddrank::tests
