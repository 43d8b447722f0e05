// What is known about a lock that a thread waits for, and about its owner.
#pragma once

#include <sys/types.h>

#include <cstdint>

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

}  // namespace oddrank::snapshot
