#include "aggregate/frames/frame_patterns.h"

#include <array>

namespace oddrank::aggregate {
namespace {

using enum FrameField;
using enum FrameMatch;
using enum FrameRole;
using snapshot::FrameKind;
using snapshot::Library;

constexpr FramePattern native(FrameField field,
                              FrameMatch match,
                              std::string_view text,
                              FrameRole role) {
  return {FrameKind::kNative, field, match, text, role};
}

constexpr FramePattern frames_of(Library library, FrameRole role) {
  return {FrameKind::kNative, kModule, kExact, "", role, library};
}

constexpr FramePattern python(FrameField field, FrameMatch match, std::string_view text) {
  return {FrameKind::kPython, field, match, text, kInternal};
}

constexpr auto kFramePatterns = std::to_array<FramePattern>({
    // The functions at which a thread or a process begins.
    native(kFunction, kExact, "start_thread", kThreadStart),
    native(kFunction, kExact, "clone3", kThreadStart),
    native(kFunction, kExact, "__clone3", kThreadStart),
    native(kFunction, kExact, "clone", kThreadStart),
    native(kFunction, kExact, "__clone", kThreadStart),
    native(kFunction, kExact, "_start", kThreadStart),
    native(kFunction, kPrefix, "__libc_start_", kThreadStart),
    native(kFunction, kExact, "execute_native_thread_routine", kThreadStart),
    native(kFunction, kExact, "thread_run", kThreadStart),
    native(kFunction, kExact, "pythread_wrapper", kThreadStart),

    // They call the program back: a comparison function, a handler of an event, also within a
    // module of Python (uvloop, gevent).
    native(kFunction, kExact, "qsort", kKey),
    native(kFunction, kExact, "qsort_r", kKey),
    native(kFunction, kExact, "bsearch", kKey),
    native(kFunction, kExact, "uv_run", kKey),
    native(kFunction, kExact, "ev_run", kKey),

    // CPython: first the functions that show something, then the rest of the interpreter.
    native(kFunction, kExact, "take_gil", kKey),
    native(kFunction, kExact, "gc_collect_main", kKey),
    native(kFunction, kExact, "subtype_dealloc", kKey),
    native(kFunction, kPrefix, "__Pyx_", kInternal),
    native(kFunction, kExact, "Py_FinalizeEx", kKey),
    native(kFunction, kPrefix, "_PyEval", kInternal),
    native(kFunction, kPrefix, "PyEval_", kInternal),
    native(kFunction, kPrefix, "PyObject_", kInternal),
    native(kFunction, kPrefix, "_PyObject_", kInternal),
    native(kFunction, kPrefix, "_PyFunction", kInternal),
    native(kFunction, kContains, "vectorcall", kInternal),
    native(kFunction, kPrefix, "cfunction_call", kInternal),
    native(kFunction, kPrefix, "Py_RunMain", kInternal),
    native(kFunction, kPrefix, "Py_BytesMain", kInternal),
    native(kModule, kPrefix, "python", kInternal),
    native(kModule, kPrefix, "libpython", kInternal),
    native(kModule, kContains, ".cpython-", kInternal),

    // libc and its neighbours.
    frames_of(Library::kLibc, kLibc),
    frames_of(Library::kLibcPart, kLibc),
    native(kFunction, kPrefix, "__futex_abstimed_wait", kLibc),
    native(kFunction, kPrefix, "std::", kInternal),
    native(kFunction, kPrefix, "void std::", kInternal),
    native(kFunction, kPrefix, "__gnu_cxx::", kInternal),
    native(kModule, kPrefix, "libstdc++", kInternal),

    // Glue between Python and the libraries.
    native(kFunction, kContains, "pybind11::", kInternal),
    native(kFunction, kContains, "nanobind::", kInternal),
    native(kFunction, kPrefix, "THP", kInternal),
    native(kFunction, kContains, "c10::Dispatcher", kInternal),
    native(kFunction, kContains, "c10::KernelFunction", kInternal),
    native(kFunction, kContains, "c10::impl::", kInternal),
    native(kFunction, kContains, "c10::BoxedKernel", kInternal),
    native(kFunction, kPrefix, "at::_ops::", kInternal),
    native(kFunction, kPrefix, "at::redispatch", kInternal),
    native(kFunction, kPrefix, "torch::autograd::", kInternal),
    native(kFunction, kPrefix, "torch::ADInplaceOrView", kInternal),
    native(kFunction, kPrefix, "torch::PythonTensor", kInternal),
    native(kFunction, kPrefix, "c10d::ops::", kInternal),
    native(kFunction, kPrefix, "torch::distributed::c10d::", kInternal),
    frames_of(Library::kCuda, kInternal),
    native(kFunction, kPrefix, "hip", kPlain),  // the runtime's entries, which programs call
    native(kModule, kPrefix, "libamdhip64", kInternal),
    frames_of(Library::kRocm, kInternal),
    frames_of(Library::kLevelZero, kInternal),

    // Communication libraries: shown wherever they are.
    native(kFunction, kPrefix, "c10d::", kKey),
    // Ranks wait for each other in different functions of the transport.
    native(kFunction, kPrefix, "gloo::transport::", kInCall),
    native(kFunction, kPrefix, "gloo::", kKey),
    // NCCL polls in other functions from sample to sample, and from rank to rank.
    native(kFunction, kPrefix, "socketProgress", kInternal),
    native(kFunction, kPrefix, "ncclSocketProgress", kInternal),
    native(kFunction, kPrefix, "nccl", kKey),
    native(kFunction, kPrefix, "pnccl", kKey),
    native(kFunction, kPrefix, "MPI_", kKey),
    native(kFunction, kPrefix, "PMPI_", kKey),
    // MPI waits by going round in its own functions, and in those of its transports.
    frames_of(Library::kMpi, kInternal),
    frames_of(Library::kMpiPart, kInternal),
    frames_of(Library::kMpiBase, kInternal),
    frames_of(Library::kTransport, kInternal),

    // The compiler and the runtime of JAX: what it runs, the frames of the program show.
    frames_of(Library::kJax, kInternal),

    // Python: wrappers that show nothing about the program.
    python(kModule, kContains, "<frozen importlib"),
    python(kModule, kContains, "<frozen runpy"),
    python(kModule, kContains, "torch/utils/_contextlib.py"),
    python(kModule, kContains, "torch/distributed/c10d_logger.py"),
    python(kModule, kContains, "torch/_library/"),  // between an operator's call and its code
    python(kModule, kContains, "torch/_compile.py"),
    python(kFunction, kPrefix, "DisableContext.__call__.<locals>."),
    python(kFunction, kExact, "OpOverload.redispatch"),
    python(kFunction, kExact, "KernelInterface.__getitem__.<locals>.<lambda>"),
    python(kFunction, kExact, "Module._call_impl"),
    python(kFunction, kExact, "Module._wrapped_call_impl"),
    python(kFunction, kExact, "_call_impl"),
    python(kFunction, kExact, "_wrapped_call_impl"),
    python(kFunction, kExact, "Thread._bootstrap"),
    python(kFunction, kExact, "Thread._bootstrap_inner"),
    python(kFunction, kExact, "_bootstrap_inner"),
    python(kModule, kContains, "multiprocessing/popen_fork.py"),
    python(kModule, kContains, "multiprocessing/context.py"),
});

constexpr StoryPattern by_python(Story story,
                                 std::string_view file,
                                 std::string_view function,
                                 std::string_view words) {
  return {story, FrameKind::kPython, file, function, words};
}

constexpr StoryPattern by_native(Story story,
                                 std::string_view module,
                                 std::string_view function,
                                 std::string_view words) {
  return {story, FrameKind::kNative, module, function, words};
}

constexpr StoryPattern by_library(Story story, Library library, std::string_view words) {
  return {story, FrameKind::kNative, "", "", words, library};
}

constexpr auto kStoryPatterns = std::to_array<StoryPattern>({
    by_python(Story::kLoader, "torch/utils/data/dataloader.py", "_try_get_data", "DataLoader"),
    by_python(Story::kLoader, "torch/utils/data/dataloader.py", "_get_data", "DataLoader"),
    by_python(Story::kLoader, "torch/utils/data/dataloader.py", "_next_data", "DataLoader"),
    by_python(Story::kLoader, "torch/utils/data/dataloader.py", "__next__", "DataLoader"),
    by_python(Story::kLoader, "tensorflow/python/data/ops/", "__next__", "tf.data"),
    by_python(Story::kLoader, "nvidia/dali/plugin/", "__next__", "DALI"),

    by_python(Story::kLoaderWorker,
              "torch/utils/data/_utils/worker.py",
              "_worker_loop",
              "DataLoader worker"),
    by_python(Story::kLoaderWorker,
              "torch/utils/data/_utils/pin_memory.py",
              "_pin_memory_loop",
              "pin-memory thread"),

    by_python(
        Story::kPoolWorker, "multiprocessing/pool.py", "worker", "multiprocessing.Pool worker"),
    by_python(Story::kPoolWorker,
              "concurrent/futures/process.py",
              "_process_worker",
              "process pool worker"),
    by_python(Story::kPoolWorker, "distributed/threadpoolexecutor.py", "_worker", "dask worker"),
    by_python(Story::kPoolWorker, "multiprocess/pool.py", "worker", "multiprocess.Pool worker"),
    by_python(Story::kPoolWorker, "loky/process_executor.py", "_process_worker", "loky worker"),

    by_python(Story::kQueueIdle, "multiprocessing/queues.py", "get", "waits for work"),
    by_python(Story::kQueueIdle, "multiprocessing/connection.py", "poll", "waits for work"),
    by_python(Story::kQueueFeeder, "multiprocessing/queues.py", "_feed", "sends a queue's items"),
    by_python(Story::kQueueFeeder,
              "multiprocessing/resource_sharer.py",
              "_serve",
              "hands out what a queue's items refer to"),

    by_python(Story::kFailed, "/pdb.py", "", "a debugger prompt"),
    by_python(Story::kFailed, "/bdb.py", "", "a debugger prompt"),
    by_python(Story::kFailed, "IPython/terminal/debugger.py", "", "a debugger prompt"),
    by_python(Story::kFailed, "", "excepthook", "the handler of an uncaught exception"),
    by_python(Story::kFailed, "", "post_mortem", "a post-mortem debugger"),
    by_python(Story::kFailed, "/traceback.py", "print_exc", "printing an exception"),
    by_python(Story::kFailed, "", "_run_exitfuncs", "exit handlers"),
    by_python(
        Story::kFailed, "/distributed_c10d.py", "destroy_process_group", "destroy_process_group"),
    by_native(Story::kFailed, "", "ncclCommAbort", "ncclCommAbort"),
    by_native(Story::kFailed, "", "MPI_Finalize", "MPI_Finalize"),

    by_python(Story::kEnds, "/threading.py", "_shutdown", "interpreter exit"),
    by_native(Story::kEnds, "", "Py_FinalizeEx", "interpreter exit"),
    by_native(Story::kEnds, "", "Py_Exit", "interpreter exit"),

    by_python(Story::kExternal, "/urllib3/", "", "an HTTP request"),
    by_python(Story::kExternal, "/http/client.py", "", "an HTTP request"),
    by_python(Story::kExternal, "/requests/", "", "an HTTP request"),
    by_python(Story::kExternal, "/aiohttp/", "", "an HTTP request"),
    by_python(Story::kExternal, "/botocore/", "", "a request to S3"),
    by_python(Story::kExternal, "/s3fs/", "", "a request to S3"),
    by_python(Story::kExternal, "/gcsfs/", "", "a request to Google Cloud Storage"),
    by_python(Story::kExternal, "/wandb/", "", "Weights & Biases"),
    by_python(Story::kExternal, "/mlflow/", "", "MLflow"),
    by_python(Story::kExternal, "/clearml/", "", "ClearML"),
    by_python(Story::kExternal, "/ssl.py", "", "a TLS connection"),

    by_native(Story::kSleep, "", "time_sleep", "sleeps"),
    by_native(Story::kSleep, "", "pysleep", "sleeps"),
    by_native(Story::kSleep, "", "nanosleep", "sleeps"),
    by_native(Story::kYields, "", "sched_yield", "yields"),

    by_python(Story::kIdle, "/asyncio/base_events.py", "_run_once", "an event loop"),
    by_python(Story::kIdle, "/socketserver.py", "serve_forever", "a server"),
    by_python(Story::kIdle, "/socket.py", "accept", "a server"),
    by_native(Story::kIdle, "", "signal_pause", "a wait for a signal"),
    by_native(Story::kIdle, "", "signal_sigwait", "a wait for a signal"),
    by_native(Story::kIdle, "", "sigsuspend", "a wait for a signal"),

    by_native(Story::kPool, "", "gomp_", "OpenMP pool"),
    by_native(Story::kPool, "libgomp", "", "OpenMP pool"),
    by_native(Story::kPool, "", "__kmp_", "OpenMP pool"),
    by_native(Story::kPool, "libiomp5", "", "OpenMP pool"),
    by_native(Story::kPool, "", "blas_thread_server", "BLAS pool"),
    by_native(Story::kPool, "libopenblas", "", "BLAS pool"),
    by_native(Story::kPool, "", "c10::ThreadPool::main_loop", "PyTorch pool"),
    by_native(Story::kPool, "", "ThreadPoolTempl<...>::WaitForWork", "XLA pool"),
    by_native(Story::kPool, "", "grpc_event_engine::", "gRPC"),
    by_native(Story::kPool, "", "grpc_core::", "gRPC"),
    by_native(Story::kPool, "", "CoordinationService::CheckStaleness", "JAX's coordination"),
    by_native(
        Story::kPool, "", "CoordinationServiceAgent::StartSendingHeartbeats", "JAX's coordination"),
    by_native(Story::kPool, "libtorch", "thread_main", "pthreadpool"),
    by_native(Story::kPool, "", "gloo::transport::tcp::Loop::run", "gloo event loop"),
    by_native(Story::kPool, "", "c10d::ProcessGroupGloo::runLoop", "gloo workers"),
    by_native(Story::kPool, "", "c10d::detail::UvTcp", "store server"),
    by_native(Story::kPool, "", "c10d::TCPStore", "store server"),
    by_native(Story::kPool, "", "c10d::detail::LibUVStoreDaemon", "store server"),
    by_native(Story::kPool, "", "HeartbeatMonitor", "NCCL monitor"),
    by_native(Story::kPool, "", "c10d::ProcessGroupNCCL::", "NCCL watchdog"),
    by_native(Story::kPool, "", "c10d::nccl2::ProcessGroupNCCL::", "NCCL watchdog"),
    by_library(Story::kPool, Library::kNccl, "NCCL helpers"),
    by_library(Story::kPool, Library::kCuda, "CUDA driver"),
    by_library(Story::kPool, Library::kRocm, "ROCm runtime"),
    by_library(Story::kPool, Library::kLevelZero, "Level Zero driver"),
    by_python(Story::kPool, "tqdm/_monitor.py", "", "tqdm monitor"),

    by_native(Story::kRest, "", "uv_run", "libuv"),
    by_native(Story::kRest, "", "uv__io_poll", "libuv"),
    by_python(Story::kRest, "/threading.py", "wait", "threading"),
    by_python(Story::kRest, "/threading.py", "_bootstrap", "threading"),

    by_native(Story::kEngine, "", "torch::autograd::Engine::", "autograd engine"),
    by_native(Story::kEngine, "", "xla::cpu::", "XLA"),
    by_native(Story::kEngine, "", "xla::gpu::", "XLA"),
    by_native(Story::kStore, "", "c10d::TCPStore::doWait", "a key of the store"),
    by_native(Story::kStore, "", "c10d::TCPStore::wait", "a key of the store"),
    by_native(Story::kStore, "", "c10d::PrefixStore::", "a key of the store"),
    by_native(Story::kStore, "", "c10d::FileStore::", "a key of the store"),
    by_native(Story::kStore, "", "c10d::HashStore::", "a key of the store"),
    by_native(Story::kStore,
              "",
              "CoordinationServiceClient::BlockingKeyValueGet",
              "a key of the coordination service"),
    by_native(Story::kStore,
              "",
              "CoordinationServiceAgent::GetKeyValue",
              "a key of the coordination service"),
    by_python(Story::kRemoteCall, "torch/distributed/rpc/api.py", "rpc_sync", "an RPC"),
    by_native(Story::kConnects, "", "c10d::detail::Socket::connect", "a connection to the store"),
    by_native(Story::kConnects, "", "SocketConnectOp", "a connection to the store"),
    by_native(Story::kRemoteCall, "", "PyRRef::toHere", "an RPC"),
    by_python(Story::kRemoteCall, "/grpc/_channel.py", "__call__", "a call of gRPC"),
    // Ray 2.9 to 2.60: drivers and workers wait for objects alike; the loop is a worker's main
    // thread.
    by_python(Story::kRemoteCall, "/ray/_private/worker.py", "get_objects", "a result of Ray"),
    by_python(Story::kServesLoop, "/ray/_private/worker.py", "main_loop", "a result of Ray"),
    by_python(Story::kServesCall, "/grpc/_server.py", "_call_behavior", "a call of gRPC"),
    by_python(Story::kServesCall, "torch/distributed/rpc/internal.py", "_run_function", "an RPC"),
    by_python(
        Story::kCommunicates, "torch/distributed/distributed_c10d.py", "", "torch.distributed"),
    by_native(Story::kCommunicates, "", "c10d::", "torch.distributed"),
    // A future may be that of a collective.
    by_native(Story::kCommunicates, "", "PythonFutureWrapper::wait", "a future of torch"),
    by_native(Story::kCommunicates, "", "c10::ivalue::Future::wait", "a future of torch"),
    by_native(Story::kCommunicates, "", "gloo::", "gloo"),
    by_library(Story::kCommunicates, Library::kGloo, "gloo"),
    by_library(Story::kCommunicates, Library::kNccl, "NCCL"),
    by_native(Story::kCommunicates, "", "MPI_", "MPI"),
});

}  // namespace

std::span<const FramePattern> frame_patterns() {
  return kFramePatterns;
}

std::span<const StoryPattern> story_patterns() {
  return kStoryPatterns;
}

}  // namespace oddrank::aggregate
