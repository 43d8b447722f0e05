// Finds the kind of lock that a futex word belongs to, and its owner, from the lock's own memory as
// glibc lays it out (2.25 and later, x86-64; priority-inheriting and robust words also of musl).
//
// The kernel does not know the owner of a futex, and nothing identifies the struct around the word.
// Each kind is recognised by what the call waits for and by several fields that must be consistent;
// the tid of an existing thread is the strongest evidence. Names of the frames may still contradict
// it.
//
// Reads from the names of libc's functions which call the thread waits in, and which inner lock of
// libc it waits for (the allocator's, the dynamic loader's). Works on plain data, after the frames
// have their names.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "attach/target.h"
#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

using snapshot::LockKind;

struct NativeLock {
  LockKind kind = LockKind::kUnknown;
  std::int32_t owner = 0;     // tid in the target's pid namespace; 0 = none or unknown
  bool owner_died = false;    // by the kernel's mark (robust)
  bool shared = false;        // other processes may own it
  std::uint32_t readers = 0;  // kReadLocks
};

// Recognises the lock behind a futex call. `is_thread` returns whether a tid of the target's pid
// namespace is a thread of the target. The owner of a mutex or a write-locked read-write lock need
// not be a thread of the target; owners of other kinds always are.
NativeLock read_native_lock(const attach::Target& target,
                            const attach::SyscallState& futex,
                            const std::function<bool(std::int32_t)>& is_thread);

// Returns "malloc" for "__GI___libc_malloc" and "malloc@@GLIBC_2.2.5".
std::string_view bare_name(std::string_view name);

// Notes in a wait for a lock which inner lock of libc it is, and whether a read-write lock is
// wanted for reading or writing. If the call is for a lock without an owner (a condition variable,
// a semaphore), sets that kind and no longer reports a gone owner: what looked like an owner was
// other data.
void name_native_lock(const snapshot::ThreadCapture& thread,
                      snapshot::Tables& tables,
                      snapshot::Wait& wait);

}  // namespace oddrank::waits
