#include "waits/futex_wait.h"

#include <linux/futex.h>

#include <algorithm>
#include <optional>

namespace oddrank::waits {
namespace {

using attach::Addr;
using attach::ThreadState;
using snapshot::Known;

// First fields of glibc's struct __pthread_mutex_s on x86-64 (sysdeps/x86/nptl/bits/struct_mutex.h;
// unchanged since 2.18 but for names).
struct GlibcMutex {
  std::uint32_t lock;
  std::uint32_t count;
  std::int32_t owner;
  std::uint32_t users;
  std::int32_t kind;
};

constexpr std::uint32_t kContended = 2;         // what __lll_lock_wait sleeps on
constexpr std::int32_t kTidLimit = 1 << 22;     // PID_MAX_LIMIT of 64-bit Linux
constexpr std::uint32_t kUserLimit = 1U << 16;  // more waiters than any process has threads
constexpr std::int32_t kKindLimit = 0x400;      // flags of a mutex's kind

// The owner's tid in the target's own pid namespace. Other things are locked with the same value 2
// (stdio streams, malloc arenas); the further fields tell them apart, with good probability only.
std::optional<std::int32_t> mutex_owner(const WaitContext& context) {
  const auto& arguments = context.thread.syscall->arguments;
  const auto mutex = attach::read_object<GlibcMutex>(context.target, Addr{arguments[0]});
  if (!mutex || mutex->lock != kContended || mutex->owner <= 0 || mutex->owner > kTidLimit) {
    return std::nullopt;
  }
  if (mutex->users == 0 || mutex->users > kUserLimit || mutex->kind < 0 ||
      mutex->kind >= kKindLimit) {
    return std::nullopt;
  }
  return mutex->owner;
}

std::optional<std::int32_t> inheriting_owner(const WaitContext& context) {
  const auto word = attach::read_object<std::uint32_t>(context.target,
                                                       Addr{context.thread.syscall->arguments[0]});
  const auto owner = word ? static_cast<std::int32_t>(*word & FUTEX_TID_MASK) : 0;
  return owner > 0 ? std::optional(owner) : std::nullopt;
}

void set_owner(const WaitContext& context, std::int32_t owner, ThreadWait& wait) {
  const auto at =
      std::find_if(context.threads.begin(), context.threads.end(),
                   [owner](const ThreadState& thread) { return thread.target_tid == owner; });
  if (at == context.threads.end()) {
    wait.holder_alive = Known::kNo;
    wait.detail = "mutex locked by thread " + std::to_string(owner) +
                  ", which this process does not have (ended, or left behind by a fork)";
    return;
  }
  wait.holder_pid = context.target.pid();
  wait.holder_tid = at->tid;
  wait.holder_alive = Known::kYes;
  wait.detail = at->tid == context.thread.tid ? "mutex that this thread has locked itself"
                                              : "mutex locked by thread " + std::to_string(at->tid);
}

}  // namespace

void read_futex_wait(const WaitContext& context, ThreadWait& wait) {
  const auto& arguments = context.thread.syscall->arguments;
  wait.on = snapshot::WaitOn::kLock;
  wait.address = arguments[0];
  const auto command = static_cast<int>(arguments[1]) & FUTEX_CMD_MASK;
  const auto expected = static_cast<std::uint32_t>(arguments[2]);
  if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
    wait.detail = "priority-inheriting lock";
    if (const auto owner = inheriting_owner(context)) {
      set_owner(context, *owner, wait);
    }
    return;
  }
  if (command == FUTEX_WAIT && expected == kContended) {
    wait.detail = "contended lock";
    if (const auto owner = mutex_owner(context)) {
      set_owner(context, *owner, wait);
    }
    return;
  }
  // glibc waits with a bit set for everything that can take a time: semaphores (Python's locks up
  // to 3.12), condition variables, joins.
  wait.detail = "semaphore, condition or join";
}

}  // namespace oddrank::waits
