#include "waits/node/owners/allocator_lock.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "snapshot/libraries/known_libraries.h"
#include "waits/native_lock_names.h"
#include "waits/node/owners/within.h"

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::FrameId;
using snapshot::InnerLock;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::Tables;
using snapshot::ThreadCapture;
using snapshot::Wait;

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

}  // namespace oddrank::waits
