// What kind of lock a futex word belongs to and who owns that lock, read from the lock's own memory
// as glibc keeps it (2.25 and later, x86-64; priority-inheriting and robust words also of musl).
//
// A futex tells the kernel nothing of its owner, and the library does not tell what lies around the
// word. Each kind is recognised by what the call waits for and by several fields that must fit one
// another; the tid of a thread that is there is the strongest of them. Names of the frames may
// still contradict (native_lock_names.h).
#pragma once

#include <cstdint>
#include <functional>

#include "attach/target.h"
#include "snapshot/lock_facts.h"

namespace oddrank::waits {

using snapshot::LockKind;

struct NativeLock {
  LockKind kind = LockKind::kUnknown;
  std::int32_t owner = 0;     // tid in the target's pid namespace; 0 = none or not known
  bool owner_died = false;    // the kernel says so (robust)
  bool shared = false;        // other processes may own it
  std::uint32_t readers = 0;  // kReadLocks
};

// `is_thread` says whether a tid of the target's pid namespace is a thread of the target. A mutex
// or a written read-write lock may give an owner that is none; the other kinds do not.
NativeLock read_native_lock(const attach::Target& target,
                            const attach::SyscallState& futex,
                            const std::function<bool(std::int32_t)>& is_thread);

}  // namespace oddrank::waits
