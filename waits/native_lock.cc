#include "waits/native_lock.h"

#include <linux/futex.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "snapshot/libraries/known_libraries.h"
#include "waits/machine/thread_descriptor.h"

namespace oddrank::waits {

namespace {

using attach::Addr;
using attach::Target;
using snapshot::Frame;
using snapshot::Known;
using snapshot::LockKind;
using snapshot::LockMode;
using snapshot::Tables;
using snapshot::Wait;
using snapshot::WaitHow;
using snapshot::WaitOn;
using IsThread = std::function<bool(std::int32_t)>;

constexpr std::int32_t kMaxTid = 1 << 22;  // PID_MAX_LIMIT of 64-bit Linux

struct FutexCall {
  Addr word{};
  int command = 0;
  std::uint32_t expected = 0;
  bool shared = false;
};

// First fields of glibc's struct __pthread_mutex_s (sysdeps/x86/nptl/bits/struct_mutex.h; unchanged
// since 2.18 except for names).
struct Mutex {
  std::uint32_t lock;
  std::uint32_t count;
  std::int32_t owner;
  std::uint32_t users;
  std::int32_t kind;
};
constexpr std::uint32_t kContended = 2;        // what __lll_lock_wait sleeps on
constexpr std::uint32_t kMaxUsers = 1U << 16;  // more waiters than any process has threads
constexpr std::int32_t kMaxKind = 0x400;       // above all flags of a mutex's kind
constexpr std::int32_t kRobustKind = 16;       // PTHREAD_MUTEX_ROBUST_NORMAL_NP

// struct __pthread_rwlock_arch_t (sysdeps/x86/nptl/bits/struct_rwlock.h; since 2.25). Readers sleep
// on phase_word until the writers' phase ends; writers sleep on writer_word until the previous
// writer has finished, then on phase_word until the readers have.
struct ReadWriteLock {
  std::uint32_t readers;  // count above the three flags
  std::uint32_t writers;
  std::uint32_t phase_word;
  std::uint32_t writer_word;
  std::array<std::uint32_t, 2> pads;
  std::int32_t writer;
  std::int32_t shared;
};
constexpr std::uint64_t kPhaseWordOffset = 8;
constexpr std::uint64_t kWriterWordOffset = 12;
constexpr std::uint32_t kWritePhase = 1;
constexpr std::uint32_t kWriteLocked = 2;
constexpr std::uint32_t kReaderShift = 3;
constexpr std::uint32_t kLockedAndSlept = 1 | 2;  // the value with which both words are waited on
constexpr std::uint32_t kSlept = 2;

// _IO_lock_t (sysdeps/nptl/stdio-lock.h); the owner is its struct pthread.
struct StreamLock {
  std::uint32_t lock;
  std::uint32_t count;
  std::uint64_t owner;
};

bool is_tid(std::int32_t tid) {
  return tid > 0 && tid <= kMaxTid;
}

// Returns the tid of the struct pthread at `address`; nullopt if there is none.
std::optional<std::int32_t> tid_of_pthread(const Target& target, std::uint64_t address) {
  if (!is_thread_descriptor(target, address)) {
    return std::nullopt;
  }
  const auto tid = attach::read_object<std::int32_t>(target, Addr{address + tid_in_descriptor()});
  return tid && is_tid(*tid) ? std::optional(*tid) : std::nullopt;
}

std::optional<NativeLock> as_inheriting(const Target& target, const FutexCall& call) {
  const auto word = attach::read_object<std::uint32_t>(target, call.word);
  NativeLock lock{LockKind::kInheriting, 0, false, call.shared, 0};
  lock.owner = word ? static_cast<std::int32_t>(*word & FUTEX_TID_MASK) : 0;
  return lock;
}

// Recognises a word that holds the owner's tid with the bit for waiters, as does the value that the
// call expects. That fits glibc's robust mutexes, and every mutex of musl, which stores its type
// elsewhere: there the owner must be alive.
std::optional<NativeLock> as_robust(const Target& target,
                                    const FutexCall& call,
                                    const IsThread& is_thread) {
  const auto owner = static_cast<std::int32_t>(call.expected & FUTEX_TID_MASK);
  const auto mutex = attach::read_object<Mutex>(target, call.word);
  if (!is_tid(owner) || !mutex ||
      (mutex->lock & FUTEX_TID_MASK) != (call.expected & FUTEX_TID_MASK)) {
    return std::nullopt;
  }
  const bool robust = mutex->owner == owner && mutex->kind > 0 && mutex->kind < kMaxKind &&
                      (mutex->kind & kRobustKind) != 0;
  if (!robust && !is_thread(owner)) {
    return std::nullopt;
  }
  return NativeLock{robust ? LockKind::kRobust : LockKind::kMutex, owner,
                    (mutex->lock & FUTEX_OWNER_DIED) != 0, call.shared, 0};
}

std::optional<NativeLock> as_stream(const Target& target,
                                    const FutexCall& call,
                                    const IsThread& is_thread) {
  const auto stream = attach::read_object<StreamLock>(target, call.word);
  if (!stream || stream->lock != kContended || stream->count == 0) {
    return std::nullopt;
  }
  const auto owner = tid_of_pthread(target, stream->owner);
  return owner && is_thread(*owner)
             ? std::optional(NativeLock{LockKind::kStream, *owner, false, false, 0})
             : std::nullopt;
}

std::optional<NativeLock> as_mutex(const Target& target,
                                   const FutexCall& call,
                                   const IsThread& is_thread) {
  const auto mutex = attach::read_object<Mutex>(target, call.word);
  if (!mutex || mutex->lock != kContended || !is_tid(mutex->owner) || mutex->users == 0 ||
      mutex->users > kMaxUsers || mutex->kind < 0 || mutex->kind >= kMaxKind) {
    return std::nullopt;
  }
  // Waits with a time limit use another futex call, which also serves other kinds.
  if (call.command != FUTEX_WAIT && !is_thread(mutex->owner)) {
    return std::nullopt;
  }
  return NativeLock{LockKind::kMutex, mutex->owner, false, call.shared, 0};
}

bool fits(const ReadWriteLock& lock, const FutexCall& call) {
  return (lock.shared == 0 || lock.shared == 1) && (lock.shared == 1) == call.shared &&
         lock.phase_word <= kLockedAndSlept && lock.writer_word <= kLockedAndSlept;
}

std::optional<NativeLock> as_written(const Target& target,
                                     const FutexCall& call,
                                     const IsThread& is_thread) {
  for (const std::uint64_t offset : {kPhaseWordOffset, kWriterWordOffset}) {
    const auto lock = attach::read_object<ReadWriteLock>(target, call.word - offset);
    if (!lock || !fits(*lock, call) || !is_tid(lock->writer)) {
      continue;
    }
    const bool held = (lock->readers & kWriteLocked) != 0 && (lock->readers & kWritePhase) != 0 &&
                      (lock->readers >> kReaderShift) < kMaxUsers;
    if (held && (is_thread(lock->writer) || lock->phase_word == kLockedAndSlept)) {
      return NativeLock{LockKind::kWriteLock, lock->writer, false, call.shared, 0};
    }
  }
  return std::nullopt;
}

std::optional<NativeLock> as_read(const Target& target, const FutexCall& call) {
  const auto lock = attach::read_object<ReadWriteLock>(target, call.word - kPhaseWordOffset);
  if (!lock || !fits(*lock, call) || lock->phase_word != kSlept || lock->writer != 0) {
    return std::nullopt;
  }
  const std::uint32_t readers = lock->readers >> kReaderShift;
  const bool claimed = (lock->readers & kWriteLocked) != 0 && (lock->readers & kWritePhase) == 0;
  return claimed && readers > 0 && readers < kMaxUsers
             ? std::optional(NativeLock{LockKind::kReadLocks, 0, false, call.shared, readers})
             : std::nullopt;
}

std::optional<NativeLock> as_thread_end(const Target& target,
                                        const FutexCall& call,
                                        const IsThread& is_thread) {
  const auto tid = static_cast<std::int32_t>(call.expected);
  if (!is_tid(tid) || !is_thread(tid)) {
    return std::nullopt;
  }
  const auto there = tid_of_pthread(target, attach::value_of(call.word) - tid_in_descriptor());
  return there == tid ? std::optional(NativeLock{LockKind::kThreadEnd, tid, false, false, 0})
                      : std::nullopt;
}

}  // namespace

NativeLock read_native_lock(const Target& target,
                            const attach::SyscallState& futex,
                            const IsThread& is_thread) {
  const auto operation = static_cast<int>(futex.arguments[1]);
  const FutexCall call{Addr{futex.arguments[0]}, operation & FUTEX_CMD_MASK,
                       static_cast<std::uint32_t>(futex.arguments[2]),
                       (operation & FUTEX_PRIVATE_FLAG) == 0};
  std::optional<NativeLock> lock;
  if (call.command == FUTEX_LOCK_PI || call.command == FUTEX_LOCK_PI2) {
    lock = as_inheriting(target, call);
  } else if (call.command != FUTEX_WAIT && call.command != FUTEX_WAIT_BITSET) {
    return {};
  } else if ((call.expected & FUTEX_WAITERS) != 0) {
    lock = as_robust(target, call, is_thread);
  } else if (call.expected == kContended) {
    lock = as_stream(target, call, is_thread);
    lock = lock ? lock : as_mutex(target, call, is_thread);
    lock = lock ? lock : as_read(target, call);
  } else if (call.expected == kLockedAndSlept) {
    lock = as_written(target, call, is_thread);
  }
  // A tid may be any number, even one that has a meaning for another lock.
  lock = lock ? lock : as_thread_end(target, call, is_thread);
  return lock.value_or(NativeLock{});
}

namespace {

constexpr std::size_t kMaxLibcFrames = 16;  // frames of libc between the wait and the program

enum class OwnerWord : std::uint8_t { kNone, kMaybe };

// A call of libc in which threads wait; names without leading underscores.
struct WaitCall {
  std::string_view function;
  OwnerWord owner;
  LockKind kind = LockKind::kUnknown;  // if it has no owner
  LockMode mode = LockMode::kUnknown;
};
constexpr std::array kWaitCalls = {
    WaitCall{"pthread_mutex_lock", OwnerWord::kMaybe},
    WaitCall{"pthread_mutex_timedlock", OwnerWord::kMaybe},
    WaitCall{"pthread_mutex_clocklock", OwnerWord::kMaybe},
    WaitCall{"pthread_mutex_cond_lock", OwnerWord::kMaybe},
    WaitCall{"pthread_rwlock_rdlock", OwnerWord::kMaybe, LockKind::kUnknown, LockMode::kRead},
    WaitCall{"pthread_rwlock_timedrdlock", OwnerWord::kMaybe, LockKind::kUnknown, LockMode::kRead},
    WaitCall{"pthread_rwlock_wrlock", OwnerWord::kMaybe, LockKind::kUnknown, LockMode::kWrite},
    WaitCall{"pthread_rwlock_timedwrlock", OwnerWord::kMaybe, LockKind::kUnknown, LockMode::kWrite},
    WaitCall{"pthread_cond_wait", OwnerWord::kNone, LockKind::kCondition},
    WaitCall{"pthread_cond_timedwait", OwnerWord::kNone, LockKind::kCondition},
    WaitCall{"pthread_cond_clockwait", OwnerWord::kNone, LockKind::kCondition},
    WaitCall{"sem_wait", OwnerWord::kNone, LockKind::kSemaphore},
    WaitCall{"sem_timedwait", OwnerWord::kNone, LockKind::kSemaphore},
    WaitCall{"sem_clockwait", OwnerWord::kNone, LockKind::kSemaphore},
    WaitCall{"new_sem_wait", OwnerWord::kNone, LockKind::kSemaphore},
    WaitCall{"new_sem_wait_slow64", OwnerWord::kNone, LockKind::kSemaphore},
    WaitCall{"pthread_barrier_wait", OwnerWord::kNone, LockKind::kBarrier},
    WaitCall{"pthread_once", OwnerWord::kNone, LockKind::kOnce},
    WaitCall{"pthread_join", OwnerWord::kMaybe},
    WaitCall{"pthread_timedjoin_np", OwnerWord::kMaybe},
    WaitCall{"pthread_clockjoin_ex", OwnerWord::kMaybe},
};

using Inner = snapshot::InnerLock;

// Functions that take libc's own locks. `prefix`: all that begin with the name.
struct InnerCall {
  std::string_view function;
  bool prefix;
  snapshot::InnerLock lock;
};
constexpr std::array kInnerLocks = {
    InnerCall{"malloc", true, Inner::kAllocator},
    InnerCall{"calloc", false, Inner::kAllocator},
    InnerCall{"realloc", false, Inner::kAllocator},
    InnerCall{"free", false, Inner::kAllocator},
    InnerCall{"cfree", false, Inner::kAllocator},
    InnerCall{"memalign", false, Inner::kAllocator},
    InnerCall{"posix_memalign", false, Inner::kAllocator},
    InnerCall{"aligned_alloc", false, Inner::kAllocator},
    InnerCall{"dl_iterate_phdr", false, Inner::kLoader},
    InnerCall{"dl_", true, Inner::kLoader},
    InnerCall{"dlopen", false, Inner::kLoader},
    InnerCall{"dlclose", false, Inner::kLoader},
    InnerCall{"dlsym", false, Inner::kLoader},
    InnerCall{"tls_get_addr", true, Inner::kLoader},
    InnerCall{"IO_", true, Inner::kStream},
    InnerCall{"fflush", true, Inner::kStream},
    InnerCall{"fwrite", true, Inner::kStream},
    InnerCall{"fread", true, Inner::kStream},
    InnerCall{"fputs", false, Inner::kStream},
    InnerCall{"fputc", false, Inner::kStream},
    InnerCall{"putc", true, Inner::kStream},
    InnerCall{"puts", false, Inner::kStream},
    InnerCall{"printf", false, Inner::kStream},
    InnerCall{"fprintf", false, Inner::kStream},
    InnerCall{"vfprintf", true, Inner::kStream},
    InnerCall{"fclose", false, Inner::kStream},
    InnerCall{"flockfile", false, Inner::kStream},
    InnerCall{"getc", true, Inner::kStream},
    InnerCall{"cxa_atexit", false, Inner::kExitHandlers},
    InnerCall{"cxa_finalize", false, Inner::kExitHandlers},
    InnerCall{"run_exit_handlers", false, Inner::kExitHandlers},
    InnerCall{"getenv", true, Inner::kEnvironment},
    InnerCall{"setenv", false, Inner::kEnvironment},
    InnerCall{"localtime_r", false, Inner::kTimeZone},
    InnerCall{"tz_convert", false, Inner::kTimeZone},
};

// What libc's frames at the inner end of a stack show.
struct LibcFrames {
  const WaitCall* call = nullptr;
  std::string_view inner_function;  // the outermost one that takes one of libc's own locks
  Inner inner = Inner::kNone;
};

LibcFrames look(const snapshot::ThreadCapture& thread, const Tables& tables) {
  LibcFrames found;
  if (thread.samples.empty()) {
    return found;
  }
  const auto& frames = tables.stack(thread.samples.back().stack).frames;
  for (std::size_t i = 0; i < std::min(frames.size(), kMaxLibcFrames); ++i) {
    const Frame& frame = tables.frame(frames[i]);
    if (!snapshot::is_libc(tables.text(frame.file))) {
      break;
    }
    const std::string_view name = bare_name(tables.text(frame.function));
    const auto* call = std::find_if(kWaitCalls.begin(), kWaitCalls.end(),
                                    [name](const WaitCall& each) { return each.function == name; });
    if (call != kWaitCalls.end() && found.call == nullptr) {
      found.call = call;
    }
    const auto* inner =
        std::find_if(kInnerLocks.begin(), kInnerLocks.end(), [name](const InnerCall& each) {
          return each.prefix ? name.starts_with(each.function) : name == each.function;
        });
    if (inner != kInnerLocks.end()) {
      found.inner_function = name;
      found.inner = inner->lock;
    }
  }
  return found;
}

}  // namespace

std::string_view bare_name(std::string_view name) {
  name = name.substr(0, name.find('@'));
  const auto first = name.find_first_not_of('_');
  name.remove_prefix(std::min(first, name.size()));
  for (const std::string_view prefix : {"GI_", "libc_"}) {
    if (name.starts_with(prefix)) {
      return bare_name(name.substr(prefix.size()));
    }
  }
  return name;
}

void name_native_lock(const snapshot::ThreadCapture& thread, Tables& tables, Wait& wait) {
  if (wait.on != WaitOn::kLock && wait.on != WaitOn::kThread) {
    return;
  }
  const LibcFrames found = look(thread, tables);
  // An owner that is a thread of the process is not a coincidence: a thread that returns from a
  // condition variable waits for its mutex again.
  const bool owned = wait.holder_tid != 0 || wait.holder_pid != 0;
  const bool unknown = wait.how == WaitHow::kLock && wait.lock.kind == LockKind::kUnknown;
  if (found.call != nullptr && found.call->owner == OwnerWord::kNone && !owned &&
      (unknown || wait.holder_alive == Known::kNo)) {
    wait.holder_alive = Known::kUnknown;
    wait.how = WaitHow::kLock;
    const bool shared = wait.lock.shared;
    wait.lock = {};
    wait.lock.shared = shared;
    wait.lock.kind = found.call->kind;
    wait.detail = {};
  } else if (found.call != nullptr) {
    wait.lock.mode = found.call->mode;
  }
  if (found.inner != Inner::kNone) {
    wait.lock.inner = found.inner;
    wait.lock.function = tables.string(found.inner_function);
  }
}

}  // namespace oddrank::waits
