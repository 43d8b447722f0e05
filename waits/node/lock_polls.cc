// Names are from portalocker, fasteners and SQLite.
#include "waits/node/lock_polls.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <span>
#include <string>

#include "base/base_name.h"
#include "snapshot/loops/named_loop.h"
#include "waits/frame_pattern.h"

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::PollOn;
using snapshot::PythonLoop;
using snapshot::Tables;
using snapshot::ThreadCapture;
using snapshot::WaitOn;

// Libraries that poll in functions of their own.
constexpr std::array kTryingFrames = {
    FramePattern{"acquire", "portalocker/utils.py"},
    FramePattern{"acquire", "fasteners/process_lock.py"},
    FramePattern{"_acquire", "fasteners/process_lock.py"},
};
constexpr std::size_t kMaxTryingDepth = 4;  // of these, from the innermost Python frame on
constexpr std::size_t kMaxInnerFrames = 1;  // Python frames further in than the loop
constexpr std::size_t kMaxNativeDepth = 12;

template <typename Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A stripped library has no names, but nothing else in it sleeps.
bool is_busy_database(const Frame& frame, bool sleeps, const Tables& tables) {
  const std::string_view function = tables.text(frame.function);
  if (function == "sqliteDefaultBusyCallback" || function == "sqlite3InvokeBusyHandler") {
    return true;
  }
  const std::string_view module = base_name(tables.text(frame.file));
  return sleeps && (module.starts_with("libsqlite3") || module.starts_with("_sqlite3"));
}

bool in_busy_handler(const ThreadCapture& thread, const Tables& tables) {
  const bool asleep = snapshot::sleeps(thread, tables);
  const auto& frames = tables.stacks()[thread.samples.back().stack].frames;
  for (std::size_t i = 0; i < std::min(frames.size(), kMaxNativeDepth); ++i) {
    const Frame& frame = tables.frame(frames[i]);
    if (frame.kind == FrameKind::kPython) {
      return false;
    }
    if (is_busy_database(frame, asleep, tables)) {
      return true;
    }
  }
  return false;
}

bool in_trying_frame(const ThreadCapture& thread, const Tables& tables) {
  const auto frames = python_frames(thread, tables);
  const std::span near(frames.data(), std::min(frames.size(), kMaxTryingDepth));
  return any_frame_matches(near, kTryingFrames, tables);
}

void add_try(PollOn on, std::string_view name, LockPoll& poll) {
  poll.flock = poll.flock || (on == PollOn::kLockFile && name != "lockf");  // both by fcntl()
  poll.posix = poll.posix || (on == PollOn::kLockFile && name != "flock");
  poll.database = poll.database || on == PollOn::kDatabase;
  poll.existence = poll.existence || on == PollOn::kFile;
  poll.by_name_only = poll.by_name_only || on == PollOn::kUnknown || on == PollOn::kLock;
}

// Calls of a lock's own say more than checks of its file.
void keep_strongest(LockPoll& poll) {
  if (poll.flock || poll.posix || poll.database) {
    poll.existence = poll.by_name_only = false;
  } else if (poll.existence) {
    poll.by_name_only = false;
  } else if (poll.by_name_only) {
    poll.flock = poll.posix = true;
  }
}

// A loop that fetches rows waits for the contents of the database, not for a lock.
bool fetches_rows(const snapshot::NamedCall& call) {
  return call.owner.starts_with("sqlite3") && call.name.starts_with("fetch");
}

std::optional<LockPoll> poll_of_loop(const PythonLoop& loop, bool asleep, const Tables& tables) {
  LockPoll poll;
  bool rests = asleep;
  bool tries = false;
  const snapshot::NamedLoop named = snapshot::named_loop(loop, tables);
  for (std::size_t i = 0; i < named.calls.size(); ++i) {
    const auto on = snapshot::asked_by(named.calls[i]);
    if (fetches_rows(named.calls[i])) {
      return std::nullopt;
    }
    if (!on) {
      rests = rests || named.calls[i].name == "sleep";
      continue;
    }
    tries = true;
    add_try(*on, named.calls[i].name, poll);
    if (const std::string_view object = tables.text(loop.calls[i].object); !object.empty()) {
      poll.objects.push_back(object);
    }
  }
  if (loop.cut || !rests || !tries) {
    return std::nullopt;
  }
  keep_strongest(poll);
  return poll.flock || poll.posix || poll.database || poll.existence
             ? std::optional(std::move(poll))
             : std::nullopt;
}

}  // namespace

std::optional<LockPoll> lock_poll_of(const ThreadCapture& thread, const Tables& tables) {
  // It mostly sleeps, but a sample may catch it trying.
  const WaitOn on = thread.wait.on;
  const bool may_poll = on == WaitOn::kUnknown || on == WaitOn::kNothing || on == WaitOn::kFile;
  if (thread.samples.empty() || !may_poll || thread.wait.holder_pid != 0) {
    return std::nullopt;
  }
  if (in_busy_handler(thread, tables)) {
    LockPoll poll;
    poll.database = true;
    return poll;
  }
  if (thread.has_python && in_trying_frame(thread, tables)) {
    LockPoll poll;
    poll.flock = poll.posix = true;
    return poll;
  }
  for (const PythonLoop& loop : thread.loops) {
    if (snapshot::python_frames_inside(loop, thread.samples.back(), tables) > kMaxInnerFrames) {
      return std::nullopt;
    }
    if (!snapshot::only_rests(snapshot::named_loop(loop, tables))) {
      return poll_of_loop(loop, snapshot::sleeps(thread, tables), tables);
    }
  }
  return std::nullopt;
}

bool is_lock_name(std::string_view path) {
  constexpr auto kWords =
      std::to_array<std::string_view>({"lock", "locks", "lockfile", "lockdir", "lck", "pid"});
  std::string word;
  for (const char each : std::string(base_name(path)) + ".") {
    if (std::isalpha(static_cast<unsigned char>(each)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
      continue;
    }
    if (is_among(kWords, word)) {
      return true;
    }
    word.clear();
  }
  return false;
}

}  // namespace oddrank::waits
