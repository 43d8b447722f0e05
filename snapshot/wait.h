// What a thread is blocked on, and its holder: the raw material of the wait-for graph.
//
// Facts have fields of their own. Texts are for people: no code compares them or extracts facts
// from them. The sentence of a wait is composed where reports are worded
// (aggregate/words/wait_sentence.h).
//
// A file that a thread waits for, and what is known about its other end.
//
// What is known about a lock that a thread waits for, and about its owner.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/small/rare.h"
#include "base/small/slim_vector.h"
#include "snapshot/ids.h"

namespace oddrank::snapshot {

enum class LockKind : std::uint8_t {
  kUnknown = 0,  // semaphore, condition variable, barrier, join, a lock without an owner
  kMutex,
  kRobust,      // the word is the owner's tid, and the kernel marks it when the owner dies
  kInheriting,  // priority inheritance: the word is the owner's tid
  kWriteLock,   // read-write lock held for writing
  kReadLocks,   // read-write lock held by readers, which it only counts
  kStream,      // of a stdio stream
  kThreadEnd,   // pthread_join: the word is the tid of the awaited thread
  kShared,      // a named semaphore, which processes share
  kCondition,   // this one and the following: known by the names of libc's functions
  kSemaphore,
  kBarrier,
  kOnce,  // a first call: pthread_once, or a static variable of C++
};

// Where the owner was found.
enum class LockOwner : std::uint8_t {
  kUnknown = 0,
  kThread,          // Wait's holder, by the lock's own memory or the runtime's
  kDied,            // owner_tid, by the kernel's mark
  kNotHere,         // owner_tid, which is not a thread of the process
  kOtherProcess,    // Wait's holder: the lock is shared by processes
  kOtherNamespace,  // owner_tid in another pid namespace: shared by processes
  kWithin,          // Wait's holder, the only thread within the allocator, or the first call
  kAcquired,        // Wait's holder, by the count that multiprocessing keeps for each process
  kNobodyAcquired,  // by those counts, no process of the family, or several
  kNobodyElse,      // the same, and no other process has or can get the lock
};

enum class LockMode : std::uint8_t { kUnknown = 0, kRead, kWrite };

// An internal lock of the C library.
enum class InnerLock : std::uint8_t {
  kNone = 0,
  kAllocator,
  kLoader,
  kStream,
  kExitHandlers,
  kEnvironment,
  kTimeZone,
};

struct LockFacts {
  LockKind kind = LockKind::kUnknown;
  LockOwner owner = LockOwner::kUnknown;
  LockMode mode = LockMode::kUnknown;
  InnerLock inner = InnerLock::kNone;
  StringId function{};        // the function that takes `inner`: "malloc"
  pid_t owner_tid = 0;        // as stored in the lock, in the target's pid namespace
  pid_t owner_pid = 0;        // kNotHere: the process that has a thread of this number; 0 = none
  std::uint32_t readers = 0;  // kReadLocks
  // Other processes may have it, too: its word is in memory that processes share, or it is an
  // object of the kernel.
  bool shared = false;

  bool operator==(const LockFacts&) const = default;
};

// A store of torch.distributed: by MASTER_PORT, or by the frames above the connection.
enum class Store : std::uint8_t { kNone = 0, kMasterPort, kOther };

// AwaitedFile::state of a socket that accepts connections (include/net/tcp_states.h).
inline constexpr std::uint8_t kTcpListens = 10;

struct AwaitedFile {
  std::int32_t fd = -1;
  StringId link{};  // as the kernel names it: "pipe:[31]", "/data/x"; empty: not known
  // For a TCP socket whose row in the kernel's table was found.
  StringId local{};
  StringId peer{};
  // include/net/tcp_states.h; of a local socket only kTcpListens; 0: unknown.
  std::uint8_t state = 0;
  Store store = Store::kNone;
  bool tls = false;               // the frames above it are TLS's
  bool tells_end = false;         // it brings nothing; it is closed when a process ends
  std::uint64_t unread = 0;       // bytes that have arrived and were not read
  std::uint64_t unsent = 0;       // bytes that the peer has not acknowledged
  std::int64_t sent_ms = -1;      // since it last sent data; -1: not known
  std::int64_t received_ms = -1;  // since it last received data
  // The process that has the other end; 0: none, several, or unknown. If it is the waiting process,
  // it wakes itself in this way (by a pipe or a pair of sockets of its own).
  pid_t holder_pid = 0;
  StringId note{};  // which processes have the other end, in words

  bool listens() const { return state == kTcpListens; }

  bool operator==(const AwaitedFile&) const = default;
};

// The values of waits_for.what in the JSON (docs/json.md), in its order.
enum class WaitOn : std::uint8_t {
  kUnknown = 0,
  kCollective,
  kPeer,
  kChild,
  kThread,
  kLock,
  kGil,
  kFileLock,
  kFile,
  kPipe,
  kSocket,
  kDevice,
  kRendezvous,
  kInput,
  kDebugger,
  kSignal,
  kNothing,  // it runs
};

enum class Known : std::uint8_t { kUnknown = 0, kNo = 1, kYes = 2 };

// How it waits, if more is known than what it waits for.
enum class WaitHow : std::uint8_t {
  kDescribed = 0,   // nothing is known beyond `detail`
  kLock,            // for a lock of the C library, or what looks like one: Wait::lock
  kPythonLock,      // for a lock object of Python's
  kGil,             // lock.owner is kThread if the holder has this GIL
  kFuture,          // of concurrent.futures; work on it has begun
  kFutureOfThread,  // the same, and the holder works on it
  kFutureNotBegun,
  kFiles,     // poll, select, epoll: RareWaitFacts::awaited
  kLockFile,  // polls the lock file Wait::path
  kFrozen,    // by its cgroup
  kObject,    // at an object (queue.Queue, Event) that else only the holder's thread has
  kClock,     // poll or select of no file: a sleep, like Python's up to 3.10
  // For a future whose work is still in a pool's queue; the holder is the pool's only thread, or
  // one of several that wait for each other.
  kFutureOfPool,
  kFutureOfLoop,  // for a coroutine of the holder's event loop; the holder is in a task
};

// Other processes that a wait is about, as their frames show.
enum class WaitAbout : std::uint8_t {
  kNobody = 0,
  kHolder,     // Wait's holder, by the system call
  kOnlyChild,  // Wait's holder, the process's only child
  kPool,       // RareWaitFacts::pool
};

// Workers of a pool that a thread waits for.
struct PoolWait {
  StringId name{};            // "DataLoader worker"
  std::uint32_t meant = 0;    // how many of them it may wait for
  std::uint32_t workers = 0;  // how many were found
  SlimVector<pid_t> pids;     // the first few that it may wait for

  bool operator==(const PoolWait&) const = default;
};

// An older wait is not just a slow step (docs/slurm.md): then two samples decide.
inline constexpr std::int64_t kOldWaitMs = 5000;

inline constexpr std::size_t kMaxAwaited = 8;       // rows of RareWaitFacts::awaited
inline constexpr std::size_t kMaxKeptSockets = 8;   // of RareWaitFacts::kept
inline constexpr std::size_t kMaxPoolPids = 4;      // PoolWait::pids
inline constexpr std::size_t kMaxAskedActors = 64;  // of AskedObjects

// A connection in the variables of a thread or a task, whatever it waits for.
struct KeptSocket {
  StringId link{};   // "socket:[31]"
  StringId local{};  // of TCP: as in Connection
  StringId peer{};
  StringId other_end{};  // as RareWaitFacts::other_end
  pid_t holder_pid = 0;  // the process of this node that has the other end; 0 = unknown
  std::int32_t fd = -1;

  bool operator==(const KeptSocket&) const = default;
};

// What a thread or a task has asked for in a framework of actors (Ray), and waits for.
struct AskedObjects {
  bool known = false;           // false: all is unknown
  bool tasks = false;           // results of tasks without an actor are among them
  bool others = false;          // so are objects that no task makes, or a placement group
  SlimVector<StringId> actors;  // whose methods' results are among them: ids

  bool operator==(const AskedObjects&) const = default;
};

// Further facts of a wait, which few waits have.
struct RareWaitFacts {
  StringId local{};  // established TCP connection: its own address, "10.0.0.1:43210"
  StringId peer{};   // the other end's address
  // The socket at the other end, "socket:[31]", if a process of this node has it.
  StringId other_end{};
  // The files of the call: the first few of several, pipes and sockets first; a single one if
  // something is known about it.
  SlimVector<AwaitedFile> awaited;
  std::uint64_t awaited_count = 0;  // all files of the call except its own wakers
  std::uint64_t awaited_ends = 0;   // how many of these are AwaitedFile::tells_end
  bool own_wakers = false;  // it also waits for counters and timers by which the program wakes
                            // itself
  // The thread of an asyncio loop in this thread's variables: it may hand work over to that loop.
  // 0: none; -1: several.
  pid_t feeds_loop = 0;
  WaitAbout about = WaitAbout::kNobody;
  PoolWait pool;
  // The key of a store (TCPStore, FileStore, ...) that it waits for; the first few of several,
  // separated by ", ". As the caller names it, without prefixes that stores add.
  StringId key{};
  SlimVector<KeptSocket> kept;
  AskedObjects asked;
  StringId notes{};   // further evidence, for people
  StringId motion{};  // what the thread did between the samples, for people

  bool operator==(const RareWaitFacts&) const = default;
};

// The order of members leaves no padding: a large job's capture has millions of these.
struct Wait {
  WaitOn on = WaitOn::kUnknown;
  bool inferred = false;  // inferred from frames, not read from the kernel or from memory
  Known holder_alive = Known::kUnknown;
  WaitHow how = WaitHow::kDescribed;
  bool limited = false;       // the call returns by itself after a time
  std::int32_t syscall = -1;  // the number on its machine; -1 = none or unknown
  StringId syscall_name{};    // "read"
  StringId wchan{};           // kernel function it sleeps in, if known
  std::int32_t fd = -1;       // the descriptor that the call is about
  StringId path{};            // what that fd is, or the file, device or lock file waited for
  // In the agent's pid namespace; 0 = unknown or none. For a pool's worker that has ended and was
  // replaced it is 0, and `holder_alive` is kNo.
  pid_t holder_pid = 0;
  pid_t holder_tid = 0;
  // What the thread does, in a few words, for people; empty if `how` says it.
  StringId detail{};
  LockFacts lock;
  std::uint64_t address = 0;  // futex word
  // The thread has not run for at least this long: nothing woke it, not even a clock or a signal.
  // -1: unknown, or it runs.
  std::int64_t quiet_ms = -1;
  // The time within which a `limited` call, or a sleep, returns; -1: unknown, or no limit.
  std::int64_t limit_ms = -1;
  Rare<RareWaitFacts> rare;

  bool operator==(const Wait&) const = default;
};

}  // namespace oddrank::snapshot
