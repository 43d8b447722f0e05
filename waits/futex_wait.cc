#include "waits/futex_wait.h"

#include <linux/futex.h>

#include <algorithm>
#include <string_view>

#include "waits/native_lock.h"

namespace oddrank::waits {
namespace {

using attach::ThreadState;
using snapshot::Known;
using snapshot::LockOwner;

const ThreadState* find_thread(const WaitContext& context, std::int32_t target_tid) {
  const auto at = std::find_if(
      context.threads.begin(), context.threads.end(),
      [target_tid](const ThreadState& thread) { return thread.target_tid == target_tid; });
  return at == context.threads.end() ? nullptr : &*at;
}

// The owner is not a thread of this process. If processes share the lock, another one may have it;
// otherwise the lock can no longer be released.
void set_absent_owner(const WaitContext& context, const NativeLock& lock, ThreadWait& wait) {
  const bool same_namespace = context.thread.target_tid == context.thread.tid;
  const pid_t process = same_namespace ? context.files.process_of_thread(lock.owner) : 0;
  wait.lock.owner_tid = lock.owner;
  if (lock.shared && process > 0) {
    wait.holder_pid = process;
    wait.holder_tid = lock.owner;
    wait.holder_alive = Known::kYes;
    wait.lock.owner = LockOwner::kOtherProcess;
    return;
  }
  if (lock.shared && !same_namespace) {
    wait.lock.owner = LockOwner::kOtherNamespace;
    return;
  }
  wait.holder_alive = Known::kNo;
  wait.lock.owner = LockOwner::kNotHere;
  wait.lock.owner_pid = process;
}

void set_lock_owner(const WaitContext& context, const NativeLock& lock, ThreadWait& wait) {
  const ThreadState* thread = find_thread(context, lock.owner);
  if (thread == nullptr) {
    set_absent_owner(context, lock, wait);
    return;
  }
  wait.holder_pid = context.target.pid();
  wait.holder_tid = thread->tid;
  wait.holder_alive = Known::kYes;
  wait.lock.owner = LockOwner::kThread;
  if (lock.kind == LockKind::kThreadEnd) {
    wait.on = snapshot::WaitOn::kThread;
  }
}

// Returns the memory of the word if processes share it, and may wait for each other there; else
// null.
const attach::Mapping* shared_memory(const WaitContext& context,
                                     const attach::SyscallState& futex) {
  if ((futex.arguments[1] & FUTEX_PRIVATE_FLAG) != 0) {
    return nullptr;
  }
  const attach::Mapping* mapping = context.target.maps().find(attach::Addr{futex.arguments[0]});
  return mapping != nullptr && mapping->shared ? mapping : nullptr;
}

// A named semaphore of glibc (sem_open) is a file of its own in shared memory.
bool is_shared_semaphore(const attach::Mapping* memory) {
  constexpr std::string_view kFolder = "/dev/shm/sem.";
  return memory != nullptr && memory->path.starts_with(kFolder);
}

}  // namespace

void read_futex_wait(const WaitContext& context, ThreadWait& wait) {
  const auto& futex = *context.thread.syscall;
  wait.on = snapshot::WaitOn::kLock;
  wait.address = futex.arguments[0];
  const NativeLock lock = read_native_lock(
      context.target, futex,
      [&context](std::int32_t target_tid) { return find_thread(context, target_tid) != nullptr; });
  wait.how = snapshot::WaitHow::kLock;
  wait.lock.kind = lock.kind;
  wait.lock.readers = lock.readers;
  const attach::Mapping* memory = shared_memory(context, futex);
  wait.lock.shared = memory != nullptr;
  if (lock.kind == LockKind::kReadLocks) {
    return;
  }
  if (lock.owner_died) {
    wait.holder_alive = Known::kNo;
    wait.lock.owner = LockOwner::kDied;
    wait.lock.owner_tid = lock.owner;
  } else if (lock.owner > 0) {
    set_lock_owner(context, lock, wait);
  } else if (lock.kind == LockKind::kUnknown && is_shared_semaphore(memory)) {
    wait.lock.kind = LockKind::kShared;
  }
}

}  // namespace oddrank::waits
