#include "waits/native_lock_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "waits/native_lock.h"

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::Known;
using snapshot::Tables;
using snapshot::Wait;
using snapshot::WaitOn;

constexpr std::size_t kDepth = 16;  // frames of libc between the wait and the program

enum class Owner : std::uint8_t { kNone, kMaybe };

// A call of libc in which threads wait; names without leading underscores.
struct WaitCall {
  std::string_view function;
  Owner owner;
  std::string_view words;
};
constexpr std::array kWaitCalls = {
    WaitCall{"pthread_mutex_lock", Owner::kMaybe, ""},
    WaitCall{"pthread_mutex_timedlock", Owner::kMaybe, ""},
    WaitCall{"pthread_mutex_clocklock", Owner::kMaybe, ""},
    WaitCall{"pthread_mutex_cond_lock", Owner::kMaybe, ""},
    WaitCall{"pthread_rwlock_rdlock", Owner::kMaybe, "wants to read"},
    WaitCall{"pthread_rwlock_timedrdlock", Owner::kMaybe, "wants to read"},
    WaitCall{"pthread_rwlock_wrlock", Owner::kMaybe, "wants to write"},
    WaitCall{"pthread_rwlock_timedwrlock", Owner::kMaybe, "wants to write"},
    WaitCall{"pthread_cond_wait", Owner::kNone, "a condition variable, which has no owner"},
    WaitCall{"pthread_cond_timedwait", Owner::kNone, "a condition variable, which has no owner"},
    WaitCall{"pthread_cond_clockwait", Owner::kNone, "a condition variable, which has no owner"},
    WaitCall{"sem_wait", Owner::kNone, "a semaphore, which has no owner"},
    WaitCall{"sem_timedwait", Owner::kNone, "a semaphore, which has no owner"},
    WaitCall{"sem_clockwait", Owner::kNone, "a semaphore, which has no owner"},
    WaitCall{"new_sem_wait", Owner::kNone, "a semaphore, which has no owner"},
    WaitCall{"new_sem_wait_slow64", Owner::kNone, "a semaphore, which has no owner"},
    WaitCall{"pthread_barrier_wait", Owner::kNone, "a barrier, which has no owner"},
    WaitCall{"pthread_once", Owner::kNone, "a first call that another thread has begun"},
    WaitCall{"pthread_join", Owner::kMaybe, ""},
    WaitCall{"pthread_timedjoin_np", Owner::kMaybe, ""},
    WaitCall{"pthread_clockjoin_ex", Owner::kMaybe, ""},
};

// Functions that take a lock of libc's own. `prefix`: all that begin so.
struct InnerLock {
  std::string_view function;
  bool prefix;
  std::string_view words;
};
constexpr std::array kInnerLocks = {
    InnerLock{"malloc", true, kAllocatorLock},
    InnerLock{"calloc", false, kAllocatorLock},
    InnerLock{"realloc", false, kAllocatorLock},
    InnerLock{"free", false, kAllocatorLock},
    InnerLock{"cfree", false, kAllocatorLock},
    InnerLock{"memalign", false, kAllocatorLock},
    InnerLock{"posix_memalign", false, kAllocatorLock},
    InnerLock{"aligned_alloc", false, kAllocatorLock},
    InnerLock{"dl_iterate_phdr", false, "the dynamic loader's lock"},
    InnerLock{"dl_", true, "the dynamic loader's lock"},
    InnerLock{"dlopen", false, "the dynamic loader's lock"},
    InnerLock{"dlclose", false, "the dynamic loader's lock"},
    InnerLock{"dlsym", false, "the dynamic loader's lock"},
    InnerLock{"tls_get_addr", true, "the dynamic loader's lock"},
    InnerLock{"IO_", true, "a stdio stream's lock"},
    InnerLock{"fflush", true, "a stdio stream's lock"},
    InnerLock{"fwrite", true, "a stdio stream's lock"},
    InnerLock{"fread", true, "a stdio stream's lock"},
    InnerLock{"fputs", false, "a stdio stream's lock"},
    InnerLock{"fputc", false, "a stdio stream's lock"},
    InnerLock{"putc", true, "a stdio stream's lock"},
    InnerLock{"puts", false, "a stdio stream's lock"},
    InnerLock{"printf", false, "a stdio stream's lock"},
    InnerLock{"fprintf", false, "a stdio stream's lock"},
    InnerLock{"vfprintf", true, "a stdio stream's lock"},
    InnerLock{"fclose", false, "a stdio stream's lock"},
    InnerLock{"flockfile", false, "a stdio stream's lock"},
    InnerLock{"getc", true, "a stdio stream's lock"},
    InnerLock{"cxa_atexit", false, "the lock of the exit handlers"},
    InnerLock{"cxa_finalize", false, "the lock of the exit handlers"},
    InnerLock{"run_exit_handlers", false, "the lock of the exit handlers"},
    InnerLock{"getenv", true, "the lock of the environment"},
    InnerLock{"setenv", false, "the lock of the environment"},
    InnerLock{"localtime_r", false, "the lock of the time zone"},
    InnerLock{"tz_convert", false, "the lock of the time zone"},
};

// What is known of the frames of libc at the inner end of a stack.
struct LibcFrames {
  const WaitCall* call = nullptr;
  std::string_view inner_function;  // of the outermost one that has a lock of libc's own
  std::string_view inner_words;
};

LibcFrames look(const snapshot::ThreadCapture& thread, const Tables& tables) {
  LibcFrames found;
  if (thread.samples.empty()) {
    return found;
  }
  const auto& frames = tables.stack(thread.samples.back().stack).frames;
  for (std::size_t i = 0; i < std::min(frames.size(), kDepth); ++i) {
    const Frame& frame = tables.frame(frames[i]);
    if (frame.kind != snapshot::FrameKind::kNative || !is_libc(tables.text(frame.file))) {
      break;
    }
    const std::string_view name = bare_name(tables.text(frame.function));
    const auto* call = std::find_if(kWaitCalls.begin(), kWaitCalls.end(),
                                    [name](const WaitCall& each) { return each.function == name; });
    if (call != kWaitCalls.end() && found.call == nullptr) {
      found.call = call;
    }
    const auto* inner =
        std::find_if(kInnerLocks.begin(), kInnerLocks.end(), [name](const InnerLock& each) {
          return each.prefix ? name.starts_with(each.function) : name == each.function;
        });
    if (inner != kInnerLocks.end()) {
      found.inner_function = name;
      found.inner_words = inner->words;
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

bool is_libc(std::string_view path) {
  const auto slash = path.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  constexpr std::array<std::string_view, 5> kStarts = {"libc.so", "libc-2", "libpthread",
                                                       "ld-linux", "ld-musl"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [file](std::string_view start) { return file.starts_with(start); });
}

void name_native_lock(const snapshot::ThreadCapture& thread, Tables& tables, Wait& wait) {
  if (wait.on != WaitOn::kLock && wait.on != WaitOn::kThread) {
    return;
  }
  const LibcFrames found = look(thread, tables);
  std::string detail(tables.text(wait.detail));
  // An owner that is a thread of the process was found by its number, which no accident gives; a
  // thread that returns from a condition variable waits for its mutex again.
  const bool owned = wait.holder_tid != 0 || wait.holder_pid != 0;
  const bool known =
      !detail.starts_with(lock_words(LockKind::kUnknown)) && wait.holder_alive != Known::kNo;
  if (found.call != nullptr && found.call->owner == Owner::kNone && !owned && !known) {
    wait.holder_alive = Known::kUnknown;
    const auto limit = detail.find(", with a time limit");
    detail = std::string(found.call->words) +
             (limit == std::string::npos ? std::string() : detail.substr(limit));
  } else if (found.call != nullptr && found.call->owner == Owner::kMaybe &&
             !found.call->words.empty()) {
    detail += ", " + std::string(found.call->words);
  }
  if (!found.inner_words.empty()) {
    const std::string_view unknown = lock_words(LockKind::kUnknown);
    detail = detail.starts_with(unknown) ? "lock" + detail.substr(unknown.size()) : detail;
    detail += "; in " + std::string(found.inner_function) + "(): " + std::string(found.inner_words);
  }
  wait.detail = tables.string(detail);
}

}  // namespace oddrank::waits
