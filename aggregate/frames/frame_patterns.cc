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
constexpr auto kNative = snapshot::FrameKind::kNative;
constexpr auto kPython = snapshot::FrameKind::kPython;

constexpr auto kFramePatterns = std::to_array<FramePattern>({
    // The functions at which a thread or a process begins.
    {kNative, kFunction, kExact, "start_thread", kThreadStart},
    {kNative, kFunction, kExact, "clone3", kThreadStart},
    {kNative, kFunction, kExact, "__clone3", kThreadStart},
    {kNative, kFunction, kExact, "clone", kThreadStart},
    {kNative, kFunction, kExact, "__clone", kThreadStart},
    {kNative, kFunction, kExact, "_start", kThreadStart},
    {kNative, kFunction, kPrefix, "__libc_start_", kThreadStart},
    {kNative, kFunction, kExact, "execute_native_thread_routine", kThreadStart},
    {kNative, kFunction, kExact, "thread_run", kThreadStart},
    {kNative, kFunction, kExact, "pythread_wrapper", kThreadStart},

    // They call the program back: a comparison function, a handler of an event, also within a
    // module of Python (uvloop, gevent).
    {kNative, kFunction, kExact, "qsort", kKey},
    {kNative, kFunction, kExact, "qsort_r", kKey},
    {kNative, kFunction, kExact, "bsearch", kKey},
    {kNative, kFunction, kExact, "uv_run", kKey},
    {kNative, kFunction, kExact, "ev_run", kKey},

    // CPython: first the functions that show something, then the rest of the interpreter.
    {kNative, kFunction, kExact, "take_gil", kKey},
    {kNative, kFunction, kExact, "gc_collect_main", kKey},
    {kNative, kFunction, kExact, "subtype_dealloc", kKey},
    {kNative, kFunction, kPrefix, "__Pyx_", kInternal},
    {kNative, kFunction, kExact, "Py_FinalizeEx", kKey},
    {kNative, kFunction, kPrefix, "_PyEval", kInternal},
    {kNative, kFunction, kPrefix, "PyEval_", kInternal},
    {kNative, kFunction, kPrefix, "PyObject_", kInternal},
    {kNative, kFunction, kPrefix, "_PyObject_", kInternal},
    {kNative, kFunction, kPrefix, "_PyFunction", kInternal},
    {kNative, kFunction, kContains, "vectorcall", kInternal},
    {kNative, kFunction, kPrefix, "cfunction_call", kInternal},
    {kNative, kFunction, kPrefix, "Py_RunMain", kInternal},
    {kNative, kFunction, kPrefix, "Py_BytesMain", kInternal},
    {kNative, kModule, kPrefix, "python", kInternal},
    {kNative, kModule, kPrefix, "libpython", kInternal},
    {kNative, kModule, kContains, ".cpython-", kInternal},

    // libc and its neighbours.
    {kNative, kModule, kExact, "", kLibc, Library::kLibc},
    {kNative, kModule, kExact, "", kLibc, Library::kLibcPart},
    {kNative, kFunction, kPrefix, "__futex_abstimed_wait", kLibc},
    {kNative, kFunction, kPrefix, "std::", kInternal},
    {kNative, kFunction, kPrefix, "void std::", kInternal},
    {kNative, kFunction, kPrefix, "__gnu_cxx::", kInternal},
    {kNative, kModule, kPrefix, "libstdc++", kInternal},

    // Glue between Python and the libraries.
    {kNative, kFunction, kContains, "pybind11::", kInternal},
    {kNative, kFunction, kContains, "nanobind::", kInternal},
    {kNative, kFunction, kPrefix, "THP", kInternal},
    {kNative, kFunction, kContains, "c10::Dispatcher", kInternal},
    {kNative, kFunction, kContains, "c10::KernelFunction", kInternal},
    {kNative, kFunction, kContains, "c10::impl::", kInternal},
    {kNative, kFunction, kContains, "c10::BoxedKernel", kInternal},
    {kNative, kFunction, kPrefix, "at::_ops::", kInternal},
    {kNative, kFunction, kPrefix, "at::redispatch", kInternal},
    {kNative, kFunction, kPrefix, "torch::autograd::", kInternal},
    {kNative, kFunction, kPrefix, "torch::ADInplaceOrView", kInternal},
    {kNative, kFunction, kPrefix, "torch::PythonTensor", kInternal},
    {kNative, kFunction, kPrefix, "c10d::ops::", kInternal},
    {kNative, kFunction, kPrefix, "torch::distributed::c10d::", kInternal},
    {kNative, kModule, kExact, "", kInternal, Library::kCuda},
    {kNative, kFunction, kPrefix, "hip", kPlain},  // the runtime's entries, which programs call
    {kNative, kModule, kPrefix, "libamdhip64", kInternal},
    {kNative, kModule, kExact, "", kInternal, Library::kRocm},
    {kNative, kModule, kExact, "", kInternal, Library::kLevelZero},

    // Communication libraries: shown wherever they are.
    {kNative, kFunction, kPrefix, "c10d::", kKey},
    // Ranks wait for each other in different functions of the transport.
    {kNative, kFunction, kPrefix, "gloo::transport::", kInCall},
    {kNative, kFunction, kPrefix, "gloo::", kKey},
    // NCCL polls in other functions from sample to sample, and from rank to rank.
    {kNative, kFunction, kPrefix, "socketProgress", kInternal},
    {kNative, kFunction, kPrefix, "ncclSocketProgress", kInternal},
    {kNative, kFunction, kPrefix, "nccl", kKey},
    {kNative, kFunction, kPrefix, "pnccl", kKey},
    {kNative, kFunction, kPrefix, "MPI_", kKey},
    {kNative, kFunction, kPrefix, "PMPI_", kKey},
    // MPI waits by going round in its own functions, and in those of its transports.
    {kNative, kModule, kExact, "", kInternal, Library::kMpi},
    {kNative, kModule, kExact, "", kInternal, Library::kMpiPart},
    {kNative, kModule, kExact, "", kInternal, Library::kMpiBase},
    {kNative, kModule, kExact, "", kInternal, Library::kTransport},

    // The compiler and the runtime of JAX: what it runs, the frames of the program show.
    {kNative, kModule, kExact, "", kInternal, Library::kJax},

    // Python: wrappers that show nothing about the program.
    {kPython, kModule, kContains, "<frozen importlib", kInternal},
    {kPython, kModule, kContains, "<frozen runpy", kInternal},
    {kPython, kModule, kContains, "torch/utils/_contextlib.py", kInternal},
    {kPython, kModule, kContains, "torch/distributed/c10d_logger.py", kInternal},
    {kPython, kModule, kContains, "torch/_library/",
     kInternal},  // between an operator's call and its code
    {kPython, kModule, kContains, "torch/_compile.py", kInternal},
    {kPython, kFunction, kPrefix, "DisableContext.__call__.<locals>.", kInternal},
    {kPython, kFunction, kExact, "OpOverload.redispatch", kInternal},
    {kPython, kFunction, kExact, "KernelInterface.__getitem__.<locals>.<lambda>", kInternal},
    {kPython, kFunction, kExact, "Module._call_impl", kInternal},
    {kPython, kFunction, kExact, "Module._wrapped_call_impl", kInternal},
    {kPython, kFunction, kExact, "_call_impl", kInternal},
    {kPython, kFunction, kExact, "_wrapped_call_impl", kInternal},
    {kPython, kFunction, kExact, "Thread._bootstrap", kInternal},
    {kPython, kFunction, kExact, "Thread._bootstrap_inner", kInternal},
    {kPython, kFunction, kExact, "_bootstrap_inner", kInternal},
    {kPython, kModule, kContains, "multiprocessing/popen_fork.py", kInternal},
    {kPython, kModule, kContains, "multiprocessing/context.py", kInternal},
});

constexpr auto kStoryPatterns = std::to_array<StoryPattern>({
    {kLoader, kPython, "torch/utils/data/dataloader.py", "_try_get_data", "DataLoader"},
    {kLoader, kPython, "torch/utils/data/dataloader.py", "_get_data", "DataLoader"},
    {kLoader, kPython, "torch/utils/data/dataloader.py", "_next_data", "DataLoader"},
    {kLoader, kPython, "torch/utils/data/dataloader.py", "__next__", "DataLoader"},
    {kLoader, kPython, "tensorflow/python/data/ops/", "__next__", "tf.data"},
    {kLoader, kPython, "nvidia/dali/plugin/", "__next__", "DALI"},

    {kLoaderWorker, kPython, "torch/utils/data/_utils/worker.py", "_worker_loop",
     "DataLoader worker"},
    {kLoaderWorker, kPython, "torch/utils/data/_utils/pin_memory.py", "_pin_memory_loop",
     "pin-memory thread"},

    {kPoolWorker, kPython, "multiprocessing/pool.py", "worker", "multiprocessing.Pool worker"},
    {kPoolWorker, kPython, "concurrent/futures/process.py", "_process_worker",
     "process pool worker"},
    {kPoolWorker, kPython, "distributed/threadpoolexecutor.py", "_worker", "dask worker"},
    {kPoolWorker, kPython, "multiprocess/pool.py", "worker", "multiprocess.Pool worker"},
    {kPoolWorker, kPython, "loky/process_executor.py", "_process_worker", "loky worker"},

    {kQueueIdle, kPython, "multiprocessing/queues.py", "get", "waits for work"},
    {kQueueIdle, kPython, "multiprocessing/connection.py", "poll", "waits for work"},
    {kQueueFeeder, kPython, "multiprocessing/queues.py", "_feed", "sends a queue's items"},
    {kQueueFeeder, kPython, "multiprocessing/resource_sharer.py", "_serve",
     "hands out what a queue's items refer to"},

    {kFailed, kPython, "/pdb.py", "", "a debugger prompt"},
    {kFailed, kPython, "/bdb.py", "", "a debugger prompt"},
    {kFailed, kPython, "IPython/terminal/debugger.py", "", "a debugger prompt"},
    {kFailed, kPython, "", "excepthook", "the handler of an uncaught exception"},
    {kFailed, kPython, "", "post_mortem", "a post-mortem debugger"},
    {kFailed, kPython, "/traceback.py", "print_exc", "printing an exception"},
    {kFailed, kPython, "", "_run_exitfuncs", "exit handlers"},
    {kFailed, kPython, "/distributed_c10d.py", "destroy_process_group", "destroy_process_group"},
    {kFailed, kNative, "", "ncclCommAbort", "ncclCommAbort"},
    {kFailed, kNative, "", "MPI_Finalize", "MPI_Finalize"},

    {kEnds, kPython, "/threading.py", "_shutdown", "interpreter exit"},
    {kEnds, kNative, "", "Py_FinalizeEx", "interpreter exit"},
    {kEnds, kNative, "", "Py_Exit", "interpreter exit"},

    {kExternal, kPython, "/urllib3/", "", "an HTTP request"},
    {kExternal, kPython, "/http/client.py", "", "an HTTP request"},
    {kExternal, kPython, "/requests/", "", "an HTTP request"},
    {kExternal, kPython, "/aiohttp/", "", "an HTTP request"},
    {kExternal, kPython, "/botocore/", "", "a request to S3"},
    {kExternal, kPython, "/s3fs/", "", "a request to S3"},
    {kExternal, kPython, "/gcsfs/", "", "a request to Google Cloud Storage"},
    {kExternal, kPython, "/wandb/", "", "Weights & Biases"},
    {kExternal, kPython, "/mlflow/", "", "MLflow"},
    {kExternal, kPython, "/clearml/", "", "ClearML"},
    {kExternal, kPython, "/ssl.py", "", "a TLS connection"},

    {kSleep, kNative, "", "time_sleep", "sleeps"},
    {kSleep, kNative, "", "pysleep", "sleeps"},
    {kSleep, kNative, "", "nanosleep", "sleeps"},
    {kYields, kNative, "", "sched_yield", "yields"},

    {kIdle, kPython, "/asyncio/base_events.py", "_run_once", "an event loop"},
    {kIdle, kPython, "/socketserver.py", "serve_forever", "a server"},
    {kIdle, kPython, "/socket.py", "accept", "a server"},
    {kIdle, kNative, "", "signal_pause", "a wait for a signal"},
    {kIdle, kNative, "", "signal_sigwait", "a wait for a signal"},
    {kIdle, kNative, "", "sigsuspend", "a wait for a signal"},

    {kPool, kNative, "", "gomp_", "OpenMP pool"},
    {kPool, kNative, "libgomp", "", "OpenMP pool"},
    {kPool, kNative, "", "__kmp_", "OpenMP pool"},
    {kPool, kNative, "libiomp5", "", "OpenMP pool"},
    {kPool, kNative, "", "blas_thread_server", "BLAS pool"},
    {kPool, kNative, "libopenblas", "", "BLAS pool"},
    {kPool, kNative, "", "c10::ThreadPool::main_loop", "PyTorch pool"},
    {kPool, kNative, "", "ThreadPoolTempl<...>::WaitForWork", "XLA pool"},
    {kPool, kNative, "", "grpc_event_engine::", "gRPC"},
    {kPool, kNative, "", "grpc_core::", "gRPC"},
    {kPool, kNative, "", "CoordinationService::CheckStaleness", "JAX's coordination"},
    {kPool, kNative, "", "CoordinationServiceAgent::StartSendingHeartbeats", "JAX's coordination"},
    {kPool, kNative, "libtorch", "thread_main", "pthreadpool"},
    {kPool, kNative, "", "gloo::transport::tcp::Loop::run", "gloo event loop"},
    {kPool, kNative, "", "c10d::ProcessGroupGloo::runLoop", "gloo workers"},
    {kPool, kNative, "", "c10d::detail::UvTcp", "store server"},
    {kPool, kNative, "", "c10d::TCPStore", "store server"},
    {kPool, kNative, "", "c10d::detail::LibUVStoreDaemon", "store server"},
    {kPool, kNative, "", "HeartbeatMonitor", "NCCL monitor"},
    {kPool, kNative, "", "c10d::ProcessGroupNCCL::", "NCCL watchdog"},
    {kPool, kNative, "", "c10d::nccl2::ProcessGroupNCCL::", "NCCL watchdog"},
    {kPool, kNative, "", "", "NCCL helpers", Library::kNccl},
    {kPool, kNative, "", "", "CUDA driver", Library::kCuda},
    {kPool, kNative, "", "", "ROCm runtime", Library::kRocm},
    {kPool, kNative, "", "", "Level Zero driver", Library::kLevelZero},
    {kPool, kPython, "tqdm/_monitor.py", "", "tqdm monitor"},

    {kRest, kNative, "", "uv_run", "libuv"},
    {kRest, kNative, "", "uv__io_poll", "libuv"},
    {kRest, kPython, "/threading.py", "wait", "threading"},
    {kRest, kPython, "/threading.py", "_bootstrap", "threading"},

    {kEngine, kNative, "", "torch::autograd::Engine::", "autograd engine"},
    {kEngine, kNative, "", "xla::cpu::", "XLA"},
    {kEngine, kNative, "", "xla::gpu::", "XLA"},
    {kStore, kNative, "", "c10d::TCPStore::doWait", "a key of the store"},
    {kStore, kNative, "", "c10d::TCPStore::wait", "a key of the store"},
    {kStore, kNative, "", "c10d::PrefixStore::", "a key of the store"},
    {kStore, kNative, "", "c10d::FileStore::", "a key of the store"},
    {kStore, kNative, "", "c10d::HashStore::", "a key of the store"},
    {kStore, kNative, "", "CoordinationServiceClient::BlockingKeyValueGet",
     "a key of the coordination service"},
    {kStore, kNative, "", "CoordinationServiceAgent::GetKeyValue",
     "a key of the coordination service"},
    {kRemoteCall, kPython, "torch/distributed/rpc/api.py", "rpc_sync", "an RPC"},
    {kConnects, kNative, "", "c10d::detail::Socket::connect", "a connection to the store"},
    {kConnects, kNative, "", "SocketConnectOp", "a connection to the store"},
    {kRemoteCall, kNative, "", "PyRRef::toHere", "an RPC"},
    {kRemoteCall, kPython, "/grpc/_channel.py", "__call__", "a call of gRPC"},
    // Ray 2.9 to 2.60: drivers and workers wait for objects alike; the loop is a worker's main
    // thread.
    {kRemoteCall, kPython, "/ray/_private/worker.py", "get_objects", "a result of Ray"},
    {kServesLoop, kPython, "/ray/_private/worker.py", "main_loop", "a result of Ray"},
    {kServesCall, kPython, "/grpc/_server.py", "_call_behavior", "a call of gRPC"},
    {kServesCall, kPython, "torch/distributed/rpc/internal.py", "_run_function", "an RPC"},
    {kCommunicates, kPython, "torch/distributed/distributed_c10d.py", "", "torch.distributed"},
    {kCommunicates, kNative, "", "c10d::", "torch.distributed"},
    // A future may be that of a collective.
    {kCommunicates, kNative, "", "PythonFutureWrapper::wait", "a future of torch"},
    {kCommunicates, kNative, "", "c10::ivalue::Future::wait", "a future of torch"},
    {kCommunicates, kNative, "", "gloo::", "gloo"},
    {kCommunicates, kNative, "", "", "gloo", Library::kGloo},
    {kCommunicates, kNative, "", "", "NCCL", Library::kNccl},
    {kCommunicates, kNative, "", "MPI_", "MPI"},
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
