#include "waits/node/owners/once_locks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "snapshot/libraries/known_libraries.h"
#include "waits/native_lock.h"

namespace oddrank::waits {

namespace {

using snapshot::Frame;
using snapshot::FrameId;
using snapshot::InnerLock;
using snapshot::Known;
using snapshot::LockKind;
using snapshot::ProcessCapture;
using snapshot::Tables;
using snapshot::ThreadCapture;
using snapshot::Wait;

constexpr std::size_t kMaxFramesBefore = 4;  // between the system call and the first call

enum class FirstCall : std::uint8_t { kNone, kOnce, kStatic };

FirstCall first_call(const Tables& tables, FrameId frame) {
  const std::string_view name = bare_name(tables.text(tables.frame(frame).function));
  return name == "cxa_guard_acquire"                             ? FirstCall::kStatic
         : name == "pthread_once" || name == "pthread_once_slow" ? FirstCall::kOnce
                                                                 : FirstCall::kNone;
}

const std::vector<FrameId>* frames_of(const ThreadCapture& thread, const Tables& tables) {
  return thread.samples.empty() ? nullptr : &tables.stack(thread.samples.back().stack).frames;
}

// Returns the frame at the inner end by which the thread waits for a first call.
std::optional<std::size_t> first_call_at(const ThreadCapture& thread, const Tables& tables) {
  const auto* frames = frames_of(thread, tables);
  if (thread.wait.on != snapshot::WaitOn::kLock || frames == nullptr) {
    return std::nullopt;
  }
  for (std::size_t at = 0; at + 1 < frames->size() && at < kMaxFramesBefore; ++at) {
    if (first_call(tables, (*frames)[at]) != FirstCall::kNone) {
      return at;
    }
  }
  return std::nullopt;
}

bool are_same_function(const Tables& tables, FrameId a, FrameId b) {
  const snapshot::Frame& one = tables.frame(a);
  const snapshot::Frame& other = tables.frame(b);
  return one.function != snapshot::StringId{} && one.function == other.function &&
         one.file == other.file;
}

// Returns whether the thread is within a first call that the waiter may wait for: of the same
// function's variable, or any pthread_once.
bool is_within_first(const ThreadCapture& thread,
                     FirstCall kind,
                     FrameId caller,
                     const Tables& tables) {
  const auto* frames = frames_of(thread, tables);
  const auto own = first_call_at(thread, tables);
  for (std::size_t at = own ? *own + 1 : 0; frames != nullptr && at < frames->size(); ++at) {
    const bool asks = at > 0 && first_call(tables, (*frames)[at - 1]) == FirstCall::kStatic;
    if (kind == FirstCall::kOnce ? first_call(tables, (*frames)[at]) == kind
                                 : are_same_function(tables, (*frames)[at], caller) && !asks) {
      return true;
    }
  }
  return false;
}

}  // namespace

void name_initialiser(const snapshot::ProcessCapture& process,
                      const ThreadCapture& thread,
                      const Tables& tables,
                      snapshot::Wait& wait) {
  const auto at = first_call_at(thread, tables);
  if (!at || wait.holder_tid != 0) {
    return;
  }
  const auto& frames = *frames_of(thread, tables);
  const FirstCall kind = first_call(tables, frames[*at]);
  wait.how = snapshot::WaitHow::kLock;
  wait.lock.kind = LockKind::kOnce;
  wait.detail = {};
  // Another thread may be in a first call that its stack does not show. But a thread that waits for
  // a first call while it is within one most likely waits for its own.
  if (kind == FirstCall::kOnce && !has_whole_stacks(process, tables) &&
      !is_within_first(thread, kind, frames[*at + 1], tables)) {
    return;
  }
  std::vector<pid_t> within;
  for (const ThreadCapture& each : process.threads) {
    if (is_within_first(each, kind, frames[*at + 1], tables)) {
      within.push_back(each.tid);
    }
  }
  set_only_within(within, process.pid, wait);
}

namespace {

// Functions of the C library by which a program enters its allocator (malloc/malloc.c), and fork,
// which takes all of its locks for a moment. Inner functions have no names if libc is stripped.
constexpr std::array<std::string_view, 18> kEntries = {
    "malloc",   "calloc",    "realloc",        "reallocarray",  "free",        "cfree",
    "memalign", "valloc",    "pvalloc",        "aligned_alloc", "malloc_trim", "malloc_info",
    "mallinfo", "mallinfo2", "posix_memalign", "malloc_stats",  "mallopt",     "fork",
};

bool enters_allocator(const Frame& frame, const Tables& tables) {
  const std::string_view name = bare_name(tables.text(frame.function));
  return snapshot::is_libc(tables.text(frame.file)) &&
         std::find(kEntries.begin(), kEntries.end(), name) != kEntries.end();
}

// If a thread waits for the lock, the frames of libc at its inner end are the wait.
bool is_inside(const ThreadCapture& thread, bool waits, const Tables& tables) {
  const std::vector<FrameId>& frames = tables.stack(thread.samples.back().stack).frames;
  const auto begin = !waits
                         ? frames.begin()
                         : std::find_if(frames.begin(), frames.end(), [&tables](const FrameId id) {
                             return !snapshot::is_libc(tables.text(tables.frame(id).file));
                           });
  return std::any_of(begin, frames.end(), [&tables](const FrameId id) {
    return enters_allocator(tables.frame(id), tables);
  });
}

}  // namespace

void name_allocator_owner(const ProcessCapture& process, const Tables& tables, Wait& wait) {
  const bool nobody = wait.holder_pid == 0 && wait.holder_alive == Known::kUnknown;
  if (wait.on != snapshot::WaitOn::kLock || !nobody || wait.lock.inner != InnerLock::kAllocator ||
      !has_whole_stacks(process, tables)) {
    return;
  }
  std::vector<pid_t> inside;
  for (const ThreadCapture& each : process.threads) {
    const bool waits = each.wait.on == snapshot::WaitOn::kLock &&
                       each.wait.address == wait.address && each.wait.holder_tid == 0;
    if (is_inside(each, waits, tables)) {
      inside.push_back(each.tid);
    }
  }
  set_only_within(inside, process.pid, wait);
}

bool has_whole_stacks(const snapshot::ProcessCapture& process, const snapshot::Tables& tables) {
  return std::ranges::all_of(process.threads, [&tables](const snapshot::ThreadCapture& thread) {
    return !thread.samples.empty() &&
           tables.stack(thread.samples.back().stack).end == snapshot::StackEnd::kComplete;
  });
}

void set_only_within(const std::vector<pid_t>& within, pid_t process, snapshot::Wait& wait) {
  if (within.size() != 1) {
    return;
  }
  wait.holder_pid = process;
  wait.holder_tid = within.front();
  wait.holder_alive = snapshot::Known::kYes;
  wait.inferred = true;
  wait.lock.owner = snapshot::LockOwner::kWithin;
}

}  // namespace oddrank::waits
