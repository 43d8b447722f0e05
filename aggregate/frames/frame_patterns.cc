#include "aggregate/frames/frame_patterns.h"

#include <algorithm>
#include <array>

namespace oddrank::aggregate {
namespace {

bool fits_one(std::string_view text, std::string_view pattern) {
  const bool begins = pattern.starts_with('^');
  const bool ends = pattern.ends_with('$');
  pattern.remove_prefix(begins ? 1 : 0);
  pattern.remove_suffix(ends ? 1 : 0);
  return begins && ends ? text == pattern
         : begins       ? text.starts_with(pattern)
         : ends         ? text.ends_with(pattern)
                        : text.find(pattern) != std::string_view::npos;
}

bool fits_any(std::string_view text, std::string_view patterns) {
  bool fits = patterns.empty();
  while (!patterns.empty() && !fits) {
    const std::size_t end = std::min(patterns.find('|'), patterns.size());
    fits = fits_one(text, patterns.substr(0, end));
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return fits;
}

namespace rows {  // short names, for this table alone

using enum FrameRole;
using enum Story;
using snapshot::Library;
using snapshot::PollOn;
constexpr auto kC = snapshot::FrameKind::kNative;
constexpr auto kPy = snapshot::FrameKind::kPython;

constexpr std::string_view kFuture = "waits for a future (concurrent.futures)";
constexpr std::string_view kExecutorEnd = "waits for an executor to end (concurrent.futures)";
constexpr std::string_view kAborting =
    "^abort|^raise|^gsignal|^pthread_kill|^assert|^libc_message|^malloc_printerr|^fortify_fail|"
    "^stack_chk_fail|^libc_fatal|^kill_implementation$|^kill_internal$|+0x";

constexpr auto kPatterns = std::to_array<FramePattern>({
    // The functions at which a thread or a process begins.
    {kThreadStart, kC, "",
     "^start_thread$|^clone3$|^__clone3$|^clone$|^__clone$|^_start$|^__libc_start_|"
     "^execute_native_thread_routine$|^thread_run$|^pythread_wrapper$"},

    // They call the program back: a comparison function, a handler of an event, also within a
    // module of Python (uvloop, gevent).
    {kKey, kC, "", "^qsort$|^qsort_r$|^bsearch$|^uv_run$|^ev_run$"},

    // CPython: first the functions that show something, then the rest of the interpreter.
    {kKey, kC, "", "^take_gil$|^gc_collect_main$|^subtype_dealloc$|^Py_FinalizeEx$"},
    {kInternal, kC, "",
     "^__Pyx_|^_PyEval|^PyEval_|^PyObject_|^_PyObject_|^_PyFunction|vectorcall|^cfunction_call|"
     "^Py_RunMain|^Py_BytesMain"},
    {kInternal, kC, "^python|^libpython|.cpython-", ""},

    // libc and its neighbours.
    {kLibc, kC, "", "", Library::kLibc},
    {kLibc, kC, "", "", Library::kLibcPart},
    {kLibc, kC, "", "^__futex_abstimed_wait"},
    {kInternal, kC, "", "^std::|^void std::|^__gnu_cxx::"},
    {kInternal, kC, "^libstdc++", ""},

    // Glue between Python and the libraries.
    {kInternal, kC, "", "pybind11::|nanobind::|^THP|^c10d::ops::|^torch::distributed::c10d::"},
    {kInternal, kC, "", "c10::Dispatcher|c10::KernelFunction|c10::impl::|c10::BoxedKernel"},
    {kInternal, kC, "",
     "^at::_ops::|^at::redispatch|^torch::autograd::|^torch::ADInplaceOrView|"
     "^torch::PythonTensor"},
    {kInternal, kC, "", "", Library::kCuda},
    {kPlain, kC, "", "^hip"},  // the runtime's entries, which programs call
    {kInternal, kC, "^libamdhip64", ""},
    {kInternal, kC, "", "", Library::kRocm},
    {kInternal, kC, "", "", Library::kLevelZero},

    // Communication libraries: shown wherever they are. Ranks wait for each other in different
    // functions of gloo's transport. NCCL polls in functions that differ between samples and ranks.
    {kKey, kC, "", "^c10d::"},
    {kInCall, kC, "", "^gloo::transport::"},
    {kInternal, kC, "", "^socketProgress|^ncclSocketProgress"},
    {kKey, kC, "", "^gloo::|^nccl|^pnccl|^MPI_|^PMPI_"},
    // MPI waits by spinning in its own functions and its transports' functions.
    {kInternal, kC, "", "", Library::kMpi},
    {kInternal, kC, "", "", Library::kMpiPart},
    {kInternal, kC, "", "", Library::kMpiBase},
    {kInternal, kC, "", "", Library::kTransport},

    // The compiler and the runtime of JAX: the program's frames show what it runs.
    {kInternal, kC, "", "", Library::kJax},

    // Python: wrappers that show nothing about the program. (typing_extensions: @deprecated;
    // _library: between an operator's call and its code.)
    {kInternal, kPy,
     "<frozen importlib|<frozen runpy|torch/utils/_contextlib.py|torch/distributed/c10d_logger.py|"
     "/typing_extensions.py|torch/_library/|torch/_compile.py|multiprocessing/popen_fork.py|"
     "multiprocessing/context.py",
     ""},
    {kInternal, kPy, "",
     "^DisableContext.__call__.<locals>.|^OpOverload.redispatch$|"
     "^KernelInterface.__getitem__.<locals>.<lambda>$|^Module._call_impl$|^_call_impl$|"
     "^Module._wrapped_call_impl$|^_wrapped_call_impl$|^Thread._bootstrap$|"
     "^Thread._bootstrap_inner$|^_bootstrap_inner$"},

    {kLoader, kPy, "torch/utils/data/dataloader.py", "_try_get_data|_get_data|_next_data|__next__",
     "DataLoader"},
    {kLoader, kPy, "tensorflow/python/data/ops/", "__next__", "tf.data"},
    {kLoader, kPy, "nvidia/dali/plugin/", "__next__", "DALI"},
    {kLoaderWorker, kPy, "torch/utils/data/_utils/worker.py", "_worker_loop", "DataLoader worker"},
    {kLoaderWorker, kPy, "torch/utils/data/_utils/pin_memory.py", "_pin_memory_loop",
     "pin-memory thread"},

    {kPoolWorker, kPy, "multiprocessing/pool.py", "worker", "multiprocessing.Pool worker"},
    {kPoolWorker, kPy, "concurrent/futures/process.py", "_process_worker", "process pool worker"},
    {kPoolWorker, kPy, "distributed/threadpoolexecutor.py", "_worker", "dask worker"},
    {kPoolWorker, kPy, "multiprocess/pool.py", "worker", "multiprocess.Pool worker"},
    {kPoolWorker, kPy, "loky/process_executor.py", "_process_worker", "loky worker"},

    {kQueueIdle, kPy, "multiprocessing/queues.py", "get", "waits for work"},
    {kQueueIdle, kPy, "multiprocessing/connection.py", "poll", "waits for work"},
    {kQueueFeeder, kPy, "multiprocessing/queues.py", "_feed", "sends a queue's items"},
    {kQueueFeeder, kPy, "multiprocessing/resource_sharer.py", "_serve",
     "hands out what a queue's items refer to"},

    {kFailed, kPy, "/pdb.py|/bdb.py|IPython/terminal/debugger.py", "", "a debugger prompt"},
    {kFailed, kPy, "", "excepthook", "the handler of an uncaught exception"},
    {kFailed, kPy, "", "post_mortem", "a post-mortem debugger"},
    {kFailed, kPy, "/traceback.py", "print_exc", "printing an exception"},
    {kFailed, kPy, "", "_run_exitfuncs", "exit handlers"},
    {kFailed, kPy, "/distributed_c10d.py", "destroy_process_group", "destroy_process_group"},
    {kFailed, kC, "", "ncclCommAbort", "ncclCommAbort"},
    {kFailed, kC, "", "MPI_Finalize", "MPI_Finalize"},
    {kEnds, kPy, "/threading.py", "_shutdown", "interpreter exit"},
    {kEnds, kC, "", "Py_FinalizeEx|Py_Exit", "interpreter exit"},
    // Also std::terminate() and what leads there. libc's own helpers have no names in a stripped
    // file.
    {kAborts, kC, "^libstdc++.so|^libgcc_s.so", ""},
    {kAborts, kC, "", kAborting, "", Library::kLibc},
    {kAborts, kC, "", kAborting, "", Library::kLibcPart},

    {kExternal, kPy, "/urllib3/|/http/client.py|/requests/|/aiohttp/", "", "an HTTP request"},
    {kExternal, kPy, "/botocore/|/s3fs/", "", "a request to S3"},
    {kExternal, kPy, "/gcsfs/", "", "a request to Google Cloud Storage"},
    {kExternal, kPy, "/wandb/", "", "Weights & Biases"},
    {kExternal, kPy, "/mlflow/", "", "MLflow"},
    {kExternal, kPy, "/clearml/", "", "ClearML"},
    {kExternal, kPy, "/ssl.py", "", "a TLS connection"},

    {kSleep, kC, "", "time_sleep|pysleep|nanosleep", "sleeps"},
    {kSleep, kPy, "/asyncio/tasks.py", "sleep", "sleeps"},
    {kSleep, kPy, "/trio/_timeouts.py", "sleep$|sleep_until$", "sleeps"},
    {kYields, kC, "", "sched_yield", "yields"},
    {kPolls, kPy, "filelock/", "acquire", "acquire", Library::kOther, PollOn::kLockFile},
    {kPolls, kPy, "torch/utils/file_baton.py", "wait", "wait", Library::kOther, PollOn::kLockFile},
    {kPolls, kPy, "/subprocess.py", "_wait", "wait", Library::kOther, PollOn::kChild},
    {kPolls, kC, "", "c10d::FileStore::", "get", Library::kOther, PollOn::kKey},
    {kPolls, kC, "", "sqliteDefaultBusyCallback", "execute", Library::kOther, PollOn::kDatabase},
    {kDatabase, kC, "^libsqlite3", ""},

    // Names have no class up to Python 3.10.
    {kWaits, kPy, "/asyncio/base_events.py", "_run_once$", "waits in asyncio's event loop"},
    {kWaits, kPy, "/trio/_core/_io_epoll.py", "get_events$", "waits in trio's event loop"},
    {kWaits, kPy, "/asyncio/locks.py", "acquire$", "waits for an asyncio lock or semaphore"},
    {kWaits, kPy, "/asyncio/locks.py", "wait$|wait_for$",
     "waits for an asyncio event or condition"},
    {kWaits, kPy, "/asyncio/queues.py", "get$", "waits for an item of an asyncio.Queue"},
    {kWaits, kPy, "/asyncio/queues.py", "put$", "waits for room in an asyncio.Queue"},
    {kWaits, kPy, "/asyncio/queues.py", "join$", "waits for an asyncio.Queue to be worked off"},
    {kWaits, kPy, "/concurrent/futures/_base.py",
     "result$|exception$|wait$|as_completed$|result_iterator$", kFuture},
    {kWaits, kPy, "/concurrent/futures/process.py", "_chain_from_iterable_of_lists$", kFuture},
    {kWaits, kPy, "/concurrent/futures/_base.py", "__exit__$", kExecutorEnd},
    {kWaits, kPy, "/concurrent/futures/thread.py|/concurrent/futures/process.py", "shutdown$",
     kExecutorEnd},
    {kWaits, kPy, "/concurrent/futures/thread.py", "_worker$",
     "idle executor thread (concurrent.futures)"},
    {kWaits, kPy, "/concurrent/futures/process.py", "_process_worker$",
     "idle executor process (concurrent.futures)"},
    {kWaits, kPy, "/multiprocessing/process.py", "join$",
     "joins a child process (multiprocessing)"},
    {kWaits, kPy, "/multiprocessing/pool.py", "get$|wait$|next$|join$",
     "waits for a multiprocessing pool"},
    {kWaits, kPy, "/multiprocessing/pool.py", "worker$", "idle worker of a multiprocessing pool"},
    {kWaits, kPy, "/multiprocessing/queues.py", "get$", "waits for a multiprocessing queue"},
    {kWaits, kPy, "/multiprocessing/queues.py", "put$",
     "waits for room in a multiprocessing queue"},
    {kWaits, kPy, "/multiprocessing/queues.py", "join$",
     "waits for a multiprocessing queue to be worked off"},
    {kWaits, kPy, "/multiprocessing/synchronize.py", "", "waits for a multiprocessing lock"},
    {kWaits, kPy, "/multiprocessing/managers.py", "_callmethod$",
     "waits for a multiprocessing manager"},
    {kWaits, kPy, "/multiprocessing/connection.py", "accept$",
     "waits for a multiprocessing client"},
    {kWaits, kPy, "/multiprocessing/connection.py", "recv$|recv_bytes$|poll$|wait$",
     "waits for a multiprocessing connection"},
    {kWaits, kPy, "/queue.py", "get$", "waits for an item of a queue.Queue"},
    {kWaits, kPy, "/queue.py", "put$", "waits for room in a queue.Queue"},
    {kWaits, kPy, "/queue.py", "join$", "waits for a queue.Queue to be worked off"},
    {kWaits, kPy, "/subprocess.py", "wait$|communicate$", "waits for a subprocess"},
    {kWaits, kPy, "/threading.py", "join$", "joins a thread"},
    {kWaits, kPy, "/threading.py", "start$", "waits for a new thread to start"},
    {kWaits, kPy, "/threading.py", "acquire$", "waits for a threading.Semaphore"},
    {kWaits, kPy, "/threading.py", "_wait$", "waits at a threading.Barrier"},
    {kWaits, kPy, "/threading.py", "wait_for$", "waits for a threading.Condition"},
    {kWaits, kPy, "/threading.py", "wait$", "waits for a threading.Condition"},
    // Functions that only wait, called by those above.
    {kWaits, kPy,
     "/asyncio/base_events.py|/asyncio/runners.py|/asyncio/unix_events.py|/selectors.py|"
     "/trio/_core/|/anyio/_core/_eventloop.py|/anyio/_backends/|"
     "/concurrent/futures/|/multiprocessing/process.py|/multiprocessing/pool.py|"
     "/multiprocessing/queues.py|/multiprocessing/managers.py|/multiprocessing/connection.py|"
     "/multiprocessing/popen_|/queue.py|/subprocess.py|/threading.py",
     ""},

    {kIdle, kPy, "/asyncio/base_events.py", "_run_once", "an event loop"},
    {kIdle, kPy, "/trio/_core/_io_epoll.py", "get_events", "an event loop"},
    {kIdle, kPy, "/socketserver.py|/multiprocessing/managers.py", "serve_forever", "a server"},
    {kIdle, kPy, "/socket.py", "accept", "a server"},
    {kIdle, kC, "", "uv_run", "an event loop"},
    // A loop in C of which only Python's frames are known, as it was seen awake.
    {kIdle, kPy, "/asyncio/runners.py", "run", "an event loop"},
    {kIdle, kC, "_torchft", "lighthouse_main", "a server"},
    {kIdle, kC, "", "signal_pause|signal_sigwait|sigsuspend", "a wait for a signal"},

    {kPool, kC, "", "gomp_|__kmp_", "OpenMP pool"},
    {kPool, kC, "libgomp|libiomp5", "", "OpenMP pool"},
    {kPool, kC, "", "blas_thread_server", "BLAS pool"},
    {kPool, kC, "libopenblas", "", "BLAS pool"},
    {kPool, kC, "", "c10::ThreadPool::main_loop", "PyTorch pool"},
    {kPool, kC, "", "ThreadPoolTempl<...>::WaitForWork", "XLA pool"},
    {kPool, kC, "", "grpc_event_engine::|grpc_core::", "gRPC"},
    {kPool, kC, "",
     "CoordinationService::CheckStaleness|CoordinationServiceAgent::StartSendingHeartbeats",
     "JAX's coordination"},
    {kPool, kC, "libtorch", "thread_main", "pthreadpool"},
    {kPool, kC, "", "gloo::transport::tcp::Loop::run", "gloo event loop"},
    {kPool, kC, "", "c10d::ProcessGroupGloo::runLoop", "gloo workers"},
    {kPool, kC, "", "c10d::detail::UvTcp|c10d::TCPStore|c10d::detail::LibUVStoreDaemon",
     "store server"},
    {kPool, kC, "", "HeartbeatMonitor", "NCCL monitor"},
    {kPool, kC, "", "c10d::ProcessGroupNCCL::|c10d::nccl2::ProcessGroupNCCL::", "NCCL watchdog"},
    {kPool, kC, "", "", "NCCL helpers", Library::kNccl},
    {kPool, kC, "", "", "CUDA driver", Library::kCuda},
    {kPool, kC, "", "", "ROCm runtime", Library::kRocm},
    {kPool, kC, "", "", "Level Zero driver", Library::kLevelZero},
    {kPool, kPy, "tqdm/_monitor.py", "", "tqdm monitor"},

    {kRest, kC, "", "uv_run|uv__io_poll", "libuv"},
    {kRest, kPy, "/threading.py", "wait|_bootstrap", "threading"},

    {kEngine, kC, "", "torch::autograd::Engine::", "autograd engine"},
    {kEngine, kC, "", "xla::cpu::|xla::gpu::", "XLA"},
    {kStore, kC, "",
     "c10d::TCPStore::doWait|c10d::TCPStore::wait|c10d::PrefixStore::|c10d::FileStore::|"
     "c10d::HashStore::",
     "a key of the store"},
    {kStore, kC, "",
     "CoordinationServiceClient::BlockingKeyValueGet|CoordinationServiceAgent::GetKeyValue",
     "a key of the coordination service"},
    {kConnects, kC, "", "c10d::detail::Socket::connect|SocketConnectOp",
     "a connection to the store"},
    {kMeetsLaunchers, kPy, "torch/distributed/elastic/", "^_rendezvous$|._rendezvous$"},

    {kRemoteCall, kPy, "torch/distributed/rpc/api.py", "rpc_sync", "an RPC"},
    {kRemoteCall, kC, "", "PyRRef::toHere", "an RPC"},
    {kServesCall, kPy, "torch/distributed/rpc/internal.py", "_run_function", "an RPC"},
    {kRemoteCall, kPy, "/grpc/_channel.py", "__call__", "a call of gRPC"},
    {kServesCall, kPy, "/grpc/_server.py", "_call_behavior", "a call of gRPC"},
    // Ray 2.9 to 2.60: drivers and workers wait for objects alike; the loop is a worker's main
    // thread.
    {kRemoteCall, kPy, "/ray/_private/worker.py", "get_objects|wait", "a call of Ray"},
    {kServesLoop, kPy, "/ray/_private/worker.py", "main_loop", "a call of Ray"},
    // Around each method of an actor, also on the threads of asynchronous and threaded ones.
    {kServesCall, kPy, "/ray/util/tracing/tracing_helper.py", "_resume_span", "a call of Ray"},
    {kRemoteCall, kPy, "/ray/util/placement_group.py", "_call_placement_group_ready",
     "a placement group of Ray"},
    // Monarch 0.7: actors run their endpoints on a thread of their own.
    {kRemoteCall, kPy, "/monarch/_src/actor/future.py", "get", "a call of Monarch"},
    {kServesLoop, kPy, "/monarch/_src/actor/actor_mesh.py", "_sync_dispatch_loop",
     "a call of Monarch"},
    // vLLM 0.32: the engine's core runs steps, for which its workers run the model.
    {kRemoteCall, kPy, "/vllm/v1/engine/core_client.py", "get_output", "an answer of the engine"},
    {kServesLoop, kPy, "/vllm/v1/engine/core.py", "run_busy_loop", "an answer of the engine"},
    {kRemoteCall, kPy, "/vllm/v1/executor/multiproc_executor.py", "get_response",
     "a step of the workers"},
    {kServesLoop, kPy, "/vllm/v1/executor/multiproc_executor.py", "worker_busy_loop",
     "a step of the workers"},
    {kAwaitsCoroutine, kPy, "/asyncio/locks.py|/asyncio/queues.py|/trio/_sync.py|/trio/_channel.py",
     ""},
    {kAwaitsCoroutine, kPy, "/anyio/_backends/_asyncio.py", "acquire"},
    {kGets, kPy,
     "/vllm/distributed/device_communicators/shm_broadcast.py|/zmq/|/queue.py|/threading.py|"
     "/contextlib.py|/selectors.py|/socket.py|/multiprocessing/connection.py",
     ""},
    {kGets, kPy, "/vllm/v1/engine/core.py", "_process_input_queue"},
    {kGets, kPy, "/vllm/distributed/utils.py", "sched_yield"},
    {kCommunicates, kPy, "torch/distributed/distributed_c10d.py", "", "torch.distributed"},
    {kCommunicates, kC, "", "c10d::", "torch.distributed"},
    // It may be a collective's future.
    {kCommunicates, kC, "", "PythonFutureWrapper::wait|c10::ivalue::Future::wait",
     "a future of torch"},
    {kCommunicates, kC, "", "gloo::", "gloo"},
    {kCommunicates, kC, "", "", "gloo", Library::kGloo},
    {kCommunicates, kC, "", "", "NCCL", Library::kNccl},
    {kCommunicates, kC, "", "MPI_", "MPI"},

    // CPython 3.6 to 3.15: Modules/gcmodule.c, then Python/gc.c and Python/gc_free_threading.c.
    {kCollectsGarbage, kC, "",
     "^gc_collect$|^gc_collect_main$|^gc_collect_full$|^gc_collect_increment$|^gc_collect_young$|"
     "^gc_collect_region$|^gc_collect_with_callback$|^gc_collect_internal$|"
     "^collect_generations$|^collect_with_callback$|^_PyGC_CollectNoFail$|^PyGC_Collect$"},
    {kEndsInterpreter, kC, "", "^Py_FinalizeEx$|^Py_EndInterpreter$"},
    {kRunsForkHooks, kC, "",
     "^PyOS_BeforeFork$|^PyOS_AfterFork_Parent$|^PyOS_AfterFork_Child$|^run_at_forkers$"},
    {kImports, kPy, "^<frozen importlib._bootstrap>$", "^acquire$|^_ModuleLock.acquire$"},
});

}  // namespace rows
}  // namespace

bool FramePattern::fits(snapshot::FrameKind of,
                        std::string_view in_file,
                        std::string_view named,
                        snapshot::Library in_library) const {
  return kind == of && (library == snapshot::Library::kOther || library == in_library) &&
         fits_any(named, function) && fits_any(in_file, file);
}

std::span<const FramePattern> frame_patterns() {
  return rows::kPatterns;
}

}  // namespace oddrank::aggregate
