#include "waits/node/owners/once_locks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "waits/native_lock_names.h"
#include "waits/node/owners/within.h"

namespace oddrank::waits {
namespace {

using snapshot::FrameId;
using snapshot::LockKind;
using snapshot::Tables;
using snapshot::ThreadCapture;

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

}  // namespace oddrank::waits
