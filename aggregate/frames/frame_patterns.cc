#include "aggregate/frames/frame_patterns.h"

#include <array>

namespace oddrank::aggregate {
namespace {
namespace rows {  // short names, for these tables alone

using enum FrameField;
using enum FrameMatch;
using enum FrameRole;
using enum Story;
using snapshot::Library;
constexpr auto kNativeCode = snapshot::FrameKind::kNative;
constexpr auto kPythonCode = snapshot::FrameKind::kPython;

constexpr auto kFramePatterns = std::to_array<FramePattern>({
    // The functions at which a thread or a process begins.
    {kNativeCode, kFunction, kExact, "start_thread", kThreadStart},
    {kNativeCode, kFunction, kExact, "clone3", kThreadStart},
    {kNativeCode, kFunction, kExact, "__clone3", kThreadStart},
    {kNativeCode, kFunction, kExact, "clone", kThreadStart},
    {kNativeCode, kFunction, kExact, "__clone", kThreadStart},
    {kNativeCode, kFunction, kExact, "_start", kThreadStart},
    {kNativeCode, kFunction, kPrefix, "__libc_start_", kThreadStart},
    {kNativeCode, kFunction, kExact, "execute_native_thread_routine", kThreadStart},
    {kNativeCode, kFunction, kExact, "thread_run", kThreadStart},
    {kNativeCode, kFunction, kExact, "pythread_wrapper", kThreadStart},

    // They call the program back: a comparison function, a handler of an event, also within a
    // module of Python (uvloop, gevent).
    {kNativeCode, kFunction, kExact, "qsort", kKey},
    {kNativeCode, kFunction, kExact, "qsort_r", kKey},
    {kNativeCode, kFunction, kExact, "bsearch", kKey},
    {kNativeCode, kFunction, kExact, "uv_run", kKey},
    {kNativeCode, kFunction, kExact, "ev_run", kKey},

    // CPython: first the functions that show something, then the rest of the interpreter.
    {kNativeCode, kFunction, kExact, "take_gil", kKey},
    {kNativeCode, kFunction, kExact, "gc_collect_main", kKey},
    {kNativeCode, kFunction, kExact, "subtype_dealloc", kKey},
    {kNativeCode, kFunction, kPrefix, "__Pyx_", kInternal},
    {kNativeCode, kFunction, kExact, "Py_FinalizeEx", kKey},
    {kNativeCode, kFunction, kPrefix, "_PyEval", kInternal},
    {kNativeCode, kFunction, kPrefix, "PyEval_", kInternal},
    {kNativeCode, kFunction, kPrefix, "PyObject_", kInternal},
    {kNativeCode, kFunction, kPrefix, "_PyObject_", kInternal},
    {kNativeCode, kFunction, kPrefix, "_PyFunction", kInternal},
    {kNativeCode, kFunction, kContains, "vectorcall", kInternal},
    {kNativeCode, kFunction, kPrefix, "cfunction_call", kInternal},
    {kNativeCode, kFunction, kPrefix, "Py_RunMain", kInternal},
    {kNativeCode, kFunction, kPrefix, "Py_BytesMain", kInternal},
    {kNativeCode, kModule, kPrefix, "python", kInternal},
    {kNativeCode, kModule, kPrefix, "libpython", kInternal},
    {kNativeCode, kModule, kContains, ".cpython-", kInternal},

    // libc and its neighbours.
    {kNativeCode, kModule, kExact, "", kLibc, Library::kLibc},
    {kNativeCode, kModule, kExact, "", kLibc, Library::kLibcPart},
    {kNativeCode, kFunction, kPrefix, "__futex_abstimed_wait", kLibc},
    {kNativeCode, kFunction, kPrefix, "std::", kInternal},
    {kNativeCode, kFunction, kPrefix, "void std::", kInternal},
    {kNativeCode, kFunction, kPrefix, "__gnu_cxx::", kInternal},
    {kNativeCode, kModule, kPrefix, "libstdc++", kInternal},

    // Glue between Python and the libraries.
    {kNativeCode, kFunction, kContains, "pybind11::", kInternal},
    {kNativeCode, kFunction, kContains, "nanobind::", kInternal},
    {kNativeCode, kFunction, kPrefix, "THP", kInternal},
    {kNativeCode, kFunction, kContains, "c10::Dispatcher", kInternal},
    {kNativeCode, kFunction, kContains, "c10::KernelFunction", kInternal},
    {kNativeCode, kFunction, kContains, "c10::impl::", kInternal},
    {kNativeCode, kFunction, kContains, "c10::BoxedKernel", kInternal},
    {kNativeCode, kFunction, kPrefix, "at::_ops::", kInternal},
    {kNativeCode, kFunction, kPrefix, "at::redispatch", kInternal},
    {kNativeCode, kFunction, kPrefix, "torch::autograd::", kInternal},
    {kNativeCode, kFunction, kPrefix, "torch::ADInplaceOrView", kInternal},
    {kNativeCode, kFunction, kPrefix, "torch::PythonTensor", kInternal},
    {kNativeCode, kFunction, kPrefix, "c10d::ops::", kInternal},
    {kNativeCode, kFunction, kPrefix, "torch::distributed::c10d::", kInternal},
    {kNativeCode, kModule, kExact, "", kInternal, Library::kCuda},
    {kNativeCode, kFunction, kPrefix, "hip", kPlain},  // the runtime's entries, which programs call
    {kNativeCode, kModule, kPrefix, "libamdhip64", kInternal},
    {kNativeCode, kModule, kExact, "", kInternal, Library::kRocm},
    {kNativeCode, kModule, kExact, "", kInternal, Library::kLevelZero},

    // Communication libraries: shown wherever they are.
    {kNativeCode, kFunction, kPrefix, "c10d::", kKey},
    // Ranks wait for each other in different functions of the transport.
    {kNativeCode, kFunction, kPrefix, "gloo::transport::", kInCall},
    {kNativeCode, kFunction, kPrefix, "gloo::", kKey},
    // NCCL polls in other functions from sample to sample, and from rank to rank.
    {kNativeCode, kFunction, kPrefix, "socketProgress", kInternal},
    {kNativeCode, kFunction, kPrefix, "ncclSocketProgress", kInternal},
    {kNativeCode, kFunction, kPrefix, "nccl", kKey},
    {kNativeCode, kFunction, kPrefix, "pnccl", kKey},
    {kNativeCode, kFunction, kPrefix, "MPI_", kKey},
    {kNativeCode, kFunction, kPrefix, "PMPI_", kKey},
    // MPI waits by going round in its own functions, and in those of its transports.
    {kNativeCode, kModule, kExact, "", kInternal, Library::kMpi},
    {kNativeCode, kModule, kExact, "", kInternal, Library::kMpiPart},
    {kNativeCode, kModule, kExact, "", kInternal, Library::kMpiBase},
    {kNativeCode, kModule, kExact, "", kInternal, Library::kTransport},

    // The compiler and the runtime of JAX: what it runs, the frames of the program show.
    {kNativeCode, kModule, kExact, "", kInternal, Library::kJax},

    // Python: wrappers that show nothing about the program.
    {kPythonCode, kModule, kContains, "<frozen importlib", kInternal},
    {kPythonCode, kModule, kContains, "<frozen runpy", kInternal},
    {kPythonCode, kModule, kContains, "torch/utils/_contextlib.py", kInternal},
    {kPythonCode, kModule, kContains, "torch/distributed/c10d_logger.py", kInternal},
    {kPythonCode, kModule, kContains, "/typing_extensions.py", kInternal},  // @deprecated
    {kPythonCode, kModule, kContains, "torch/_library/",
     kInternal},  // between an operator's call and its code
    {kPythonCode, kModule, kContains, "torch/_compile.py", kInternal},
    {kPythonCode, kFunction, kPrefix, "DisableContext.__call__.<locals>.", kInternal},
    {kPythonCode, kFunction, kExact, "OpOverload.redispatch", kInternal},
    {kPythonCode, kFunction, kExact, "KernelInterface.__getitem__.<locals>.<lambda>", kInternal},
    {kPythonCode, kFunction, kExact, "Module._call_impl", kInternal},
    {kPythonCode, kFunction, kExact, "Module._wrapped_call_impl", kInternal},
    {kPythonCode, kFunction, kExact, "_call_impl", kInternal},
    {kPythonCode, kFunction, kExact, "_wrapped_call_impl", kInternal},
    {kPythonCode, kFunction, kExact, "Thread._bootstrap", kInternal},
    {kPythonCode, kFunction, kExact, "Thread._bootstrap_inner", kInternal},
    {kPythonCode, kFunction, kExact, "_bootstrap_inner", kInternal},
    {kPythonCode, kModule, kContains, "multiprocessing/popen_fork.py", kInternal},
    {kPythonCode, kModule, kContains, "multiprocessing/context.py", kInternal},
});

constexpr auto kStoryPatterns = std::to_array<StoryPattern>({
    {kLoader, kPythonCode, "torch/utils/data/dataloader.py", "_try_get_data", "DataLoader"},
    {kLoader, kPythonCode, "torch/utils/data/dataloader.py", "_get_data", "DataLoader"},
    {kLoader, kPythonCode, "torch/utils/data/dataloader.py", "_next_data", "DataLoader"},
    {kLoader, kPythonCode, "torch/utils/data/dataloader.py", "__next__", "DataLoader"},
    {kLoader, kPythonCode, "tensorflow/python/data/ops/", "__next__", "tf.data"},
    {kLoader, kPythonCode, "nvidia/dali/plugin/", "__next__", "DALI"},

    {kLoaderWorker, kPythonCode, "torch/utils/data/_utils/worker.py", "_worker_loop",
     "DataLoader worker"},
    {kLoaderWorker, kPythonCode, "torch/utils/data/_utils/pin_memory.py", "_pin_memory_loop",
     "pin-memory thread"},

    {kPoolWorker, kPythonCode, "multiprocessing/pool.py", "worker", "multiprocessing.Pool worker"},
    {kPoolWorker, kPythonCode, "concurrent/futures/process.py", "_process_worker",
     "process pool worker"},
    {kPoolWorker, kPythonCode, "distributed/threadpoolexecutor.py", "_worker", "dask worker"},
    {kPoolWorker, kPythonCode, "multiprocess/pool.py", "worker", "multiprocess.Pool worker"},
    {kPoolWorker, kPythonCode, "loky/process_executor.py", "_process_worker", "loky worker"},

    {kQueueIdle, kPythonCode, "multiprocessing/queues.py", "get", "waits for work"},
    {kQueueIdle, kPythonCode, "multiprocessing/connection.py", "poll", "waits for work"},
    {kQueueFeeder, kPythonCode, "multiprocessing/queues.py", "_feed", "sends a queue's items"},
    {kQueueFeeder, kPythonCode, "multiprocessing/resource_sharer.py", "_serve",
     "hands out what a queue's items refer to"},

    {kFailed, kPythonCode, "/pdb.py", "", "a debugger prompt"},
    {kFailed, kPythonCode, "/bdb.py", "", "a debugger prompt"},
    {kFailed, kPythonCode, "IPython/terminal/debugger.py", "", "a debugger prompt"},
    {kFailed, kPythonCode, "", "excepthook", "the handler of an uncaught exception"},
    {kFailed, kPythonCode, "", "post_mortem", "a post-mortem debugger"},
    {kFailed, kPythonCode, "/traceback.py", "print_exc", "printing an exception"},
    {kFailed, kPythonCode, "", "_run_exitfuncs", "exit handlers"},
    {kFailed, kPythonCode, "/distributed_c10d.py", "destroy_process_group",
     "destroy_process_group"},
    {kFailed, kNativeCode, "", "ncclCommAbort", "ncclCommAbort"},
    {kFailed, kNativeCode, "", "MPI_Finalize", "MPI_Finalize"},

    {kEnds, kPythonCode, "/threading.py", "_shutdown", "interpreter exit"},
    {kEnds, kNativeCode, "", "Py_FinalizeEx", "interpreter exit"},
    {kEnds, kNativeCode, "", "Py_Exit", "interpreter exit"},

    {kExternal, kPythonCode, "/urllib3/", "", "an HTTP request"},
    {kExternal, kPythonCode, "/http/client.py", "", "an HTTP request"},
    {kExternal, kPythonCode, "/requests/", "", "an HTTP request"},
    {kExternal, kPythonCode, "/aiohttp/", "", "an HTTP request"},
    {kExternal, kPythonCode, "/botocore/", "", "a request to S3"},
    {kExternal, kPythonCode, "/s3fs/", "", "a request to S3"},
    {kExternal, kPythonCode, "/gcsfs/", "", "a request to Google Cloud Storage"},
    {kExternal, kPythonCode, "/wandb/", "", "Weights & Biases"},
    {kExternal, kPythonCode, "/mlflow/", "", "MLflow"},
    {kExternal, kPythonCode, "/clearml/", "", "ClearML"},
    {kExternal, kPythonCode, "/ssl.py", "", "a TLS connection"},

    {kSleep, kNativeCode, "", "time_sleep", "sleeps"},
    {kSleep, kNativeCode, "", "pysleep", "sleeps"},
    {kSleep, kNativeCode, "", "nanosleep", "sleeps"},
    {kYields, kNativeCode, "", "sched_yield", "yields"},

    {kIdle, kPythonCode, "/asyncio/base_events.py", "_run_once", "an event loop"},
    {kIdle, kPythonCode, "/socketserver.py", "serve_forever", "a server"},
    {kIdle, kPythonCode, "/multiprocessing/managers.py", "serve_forever", "a server"},
    {kIdle, kPythonCode, "/socket.py", "accept", "a server"},
    {kIdle, kNativeCode, "", "uv_run", "an event loop"},
    {kIdle, kNativeCode, "_torchft", "lighthouse_main", "a server"},
    {kIdle, kNativeCode, "", "signal_pause", "a wait for a signal"},
    {kIdle, kNativeCode, "", "signal_sigwait", "a wait for a signal"},
    {kIdle, kNativeCode, "", "sigsuspend", "a wait for a signal"},

    {kPool, kNativeCode, "", "gomp_", "OpenMP pool"},
    {kPool, kNativeCode, "libgomp", "", "OpenMP pool"},
    {kPool, kNativeCode, "", "__kmp_", "OpenMP pool"},
    {kPool, kNativeCode, "libiomp5", "", "OpenMP pool"},
    {kPool, kNativeCode, "", "blas_thread_server", "BLAS pool"},
    {kPool, kNativeCode, "libopenblas", "", "BLAS pool"},
    {kPool, kNativeCode, "", "c10::ThreadPool::main_loop", "PyTorch pool"},
    {kPool, kNativeCode, "", "ThreadPoolTempl<...>::WaitForWork", "XLA pool"},
    {kPool, kNativeCode, "", "grpc_event_engine::", "gRPC"},
    {kPool, kNativeCode, "", "grpc_core::", "gRPC"},
    {kPool, kNativeCode, "", "CoordinationService::CheckStaleness", "JAX's coordination"},
    {kPool, kNativeCode, "", "CoordinationServiceAgent::StartSendingHeartbeats",
     "JAX's coordination"},
    {kPool, kNativeCode, "libtorch", "thread_main", "pthreadpool"},
    {kPool, kNativeCode, "", "gloo::transport::tcp::Loop::run", "gloo event loop"},
    {kPool, kNativeCode, "", "c10d::ProcessGroupGloo::runLoop", "gloo workers"},
    {kPool, kNativeCode, "", "c10d::detail::UvTcp", "store server"},
    {kPool, kNativeCode, "", "c10d::TCPStore", "store server"},
    {kPool, kNativeCode, "", "c10d::detail::LibUVStoreDaemon", "store server"},
    {kPool, kNativeCode, "", "HeartbeatMonitor", "NCCL monitor"},
    {kPool, kNativeCode, "", "c10d::ProcessGroupNCCL::", "NCCL watchdog"},
    {kPool, kNativeCode, "", "c10d::nccl2::ProcessGroupNCCL::", "NCCL watchdog"},
    {kPool, kNativeCode, "", "", "NCCL helpers", Library::kNccl},
    {kPool, kNativeCode, "", "", "CUDA driver", Library::kCuda},
    {kPool, kNativeCode, "", "", "ROCm runtime", Library::kRocm},
    {kPool, kNativeCode, "", "", "Level Zero driver", Library::kLevelZero},
    {kPool, kPythonCode, "tqdm/_monitor.py", "", "tqdm monitor"},

    {kRest, kNativeCode, "", "uv_run", "libuv"},
    {kRest, kNativeCode, "", "uv__io_poll", "libuv"},
    {kRest, kPythonCode, "/threading.py", "wait", "threading"},
    {kRest, kPythonCode, "/threading.py", "_bootstrap", "threading"},

    {kEngine, kNativeCode, "", "torch::autograd::Engine::", "autograd engine"},
    {kEngine, kNativeCode, "", "xla::cpu::", "XLA"},
    {kEngine, kNativeCode, "", "xla::gpu::", "XLA"},
    {kStore, kNativeCode, "", "c10d::TCPStore::doWait", "a key of the store"},
    {kStore, kNativeCode, "", "c10d::TCPStore::wait", "a key of the store"},
    {kStore, kNativeCode, "", "c10d::PrefixStore::", "a key of the store"},
    {kStore, kNativeCode, "", "c10d::FileStore::", "a key of the store"},
    {kStore, kNativeCode, "", "c10d::HashStore::", "a key of the store"},
    {kStore, kNativeCode, "", "CoordinationServiceClient::BlockingKeyValueGet",
     "a key of the coordination service"},
    {kStore, kNativeCode, "", "CoordinationServiceAgent::GetKeyValue",
     "a key of the coordination service"},
    {kRemoteCall, kPythonCode, "torch/distributed/rpc/api.py", "rpc_sync", "an RPC"},
    {kConnects, kNativeCode, "", "c10d::detail::Socket::connect", "a connection to the store"},
    {kConnects, kNativeCode, "", "SocketConnectOp", "a connection to the store"},
    {kRemoteCall, kNativeCode, "", "PyRRef::toHere", "an RPC"},
    {kRemoteCall, kPythonCode, "/grpc/_channel.py", "__call__", "a call of gRPC"},
    // Ray 2.9 to 2.60: drivers and workers wait for objects alike; the loop is a worker's main
    // thread.
    {kRemoteCall, kPythonCode, "/ray/_private/worker.py", "get_objects", "a call of Ray"},
    {kServesLoop, kPythonCode, "/ray/_private/worker.py", "main_loop", "a call of Ray"},
    // Around each method of an actor, also on the threads of asynchronous and threaded ones.
    {kServesCall, kPythonCode, "/ray/util/tracing/tracing_helper.py", "_resume_span",
     "a call of Ray"},
    {kRemoteCall, kPythonCode, "/ray/_private/worker.py", "wait", "a call of Ray"},
    {kRemoteCall, kPythonCode, "/ray/util/placement_group.py", "_call_placement_group_ready",
     "a placement group of Ray"},
    // Monarch 0.7: actors run their endpoints on a thread of their own.
    {kRemoteCall, kPythonCode, "/monarch/_src/actor/future.py", "get", "a call of Monarch"},
    {kServesLoop, kPythonCode, "/monarch/_src/actor/actor_mesh.py", "_sync_dispatch_loop",
     "a call of Monarch"},
    // vLLM 0.32: the engine's core runs steps, for which its workers run the model.
    {kRemoteCall, kPythonCode, "/vllm/v1/engine/core_client.py", "get_output",
     "an answer of the engine"},
    {kServesLoop, kPythonCode, "/vllm/v1/engine/core.py", "run_busy_loop",
     "an answer of the engine"},
    {kRemoteCall, kPythonCode, "/vllm/v1/executor/multiproc_executor.py", "get_response",
     "a step of the workers"},
    {kServesLoop, kPythonCode, "/vllm/v1/executor/multiproc_executor.py", "worker_busy_loop",
     "a step of the workers"},
    {kAwaitsCoroutine, kPythonCode, "/asyncio/locks.py", "", ""},
    {kAwaitsCoroutine, kPythonCode, "/asyncio/queues.py", "", ""},
    {kSleep, kPythonCode, "/asyncio/tasks.py", "sleep", "sleeps"},
    {kGets, kPythonCode, "/vllm/distributed/device_communicators/shm_broadcast.py", "", ""},
    {kGets, kPythonCode, "/vllm/v1/engine/core.py", "_process_input_queue", ""},
    {kGets, kPythonCode, "/zmq/", "", ""},
    {kGets, kPythonCode, "/queue.py", "", ""},
    {kGets, kPythonCode, "/threading.py", "", ""},
    {kGets, kPythonCode, "/contextlib.py", "", ""},
    {kGets, kPythonCode, "/selectors.py", "", ""},
    {kGets, kPythonCode, "/socket.py", "", ""},
    {kGets, kPythonCode, "/multiprocessing/connection.py", "", ""},
    {kServesCall, kPythonCode, "/grpc/_server.py", "_call_behavior", "a call of gRPC"},
    {kServesCall, kPythonCode, "torch/distributed/rpc/internal.py", "_run_function", "an RPC"},
    {kCommunicates, kPythonCode, "torch/distributed/distributed_c10d.py", "", "torch.distributed"},
    {kCommunicates, kNativeCode, "", "c10d::", "torch.distributed"},
    // A future may be that of a collective.
    {kCommunicates, kNativeCode, "", "PythonFutureWrapper::wait", "a future of torch"},
    {kCommunicates, kNativeCode, "", "c10::ivalue::Future::wait", "a future of torch"},
    {kCommunicates, kNativeCode, "", "gloo::", "gloo"},
    {kCommunicates, kNativeCode, "", "", "gloo", Library::kGloo},
    {kCommunicates, kNativeCode, "", "", "NCCL", Library::kNccl},
    {kCommunicates, kNativeCode, "", "MPI_", "MPI"},
});

}  // namespace rows
}  // namespace

std::span<const FramePattern> frame_patterns() {
  return rows::kFramePatterns;
}

std::span<const StoryPattern> story_patterns() {
  return rows::kStoryPatterns;
}

}  // namespace oddrank::aggregate
