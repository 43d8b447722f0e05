#include "waits/native_lock_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "snapshot/libraries/known_libraries.h"

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::Known;
using snapshot::LockKind;
using snapshot::LockMode;
using snapshot::Tables;
using snapshot::Wait;
using snapshot::WaitHow;
using snapshot::WaitOn;

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
