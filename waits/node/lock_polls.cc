// Names are those of Python's standard library, portalocker, fasteners and SQLite.
#include "waits/node/lock_polls.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <span>
#include <string>

#include "base/base_name.h"
#include "snapshot/loops/call_names.h"
#include "snapshot/loops/named_loop.h"
#include "waits/frame_pattern.h"

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::LoopCall;
using snapshot::PythonLoop;
using snapshot::Tables;
using snapshot::ThreadCapture;
using snapshot::WaitOn;

enum class Tries : std::uint8_t { kFlock, kPosix, kEither, kObject, kDatabase, kExistence };

struct TryingName {
  std::string_view name;
  Tries tries;
};
constexpr auto kTryingNames = std::to_array<TryingName>({
    {"flock", Tries::kFlock},
    {"lockf", Tries::kPosix},
    {"lock", Tries::kEither},     // portalocker
    {"acquire", Tries::kObject},  // fasteners, but also threading
    {"execute", Tries::kDatabase},
    {"executemany", Tries::kDatabase},
    {"executescript", Tries::kDatabase},
    {"commit", Tries::kDatabase},
    {"open", Tries::kExistence},
    {"mkdir", Tries::kExistence},
    {"link", Tries::kExistence},
    {"symlink", Tries::kExistence},
    {"hardlink_to", Tries::kExistence},
    {"symlink_to", Tries::kExistence},
    {"touch", Tries::kExistence},
    {"exists", Tries::kExistence},
    {"lexists", Tries::kExistence},
    {"isfile", Tries::kExistence},
    {"is_file", Tries::kExistence},
    {"isdir", Tries::kExistence},
    {"is_dir", Tries::kExistence},
    {"stat", Tries::kExistence},
    {"lstat", Tries::kExistence},
    {"access", Tries::kExistence},
});

// Calls that follow a try, within the loop or in a handler of it.
constexpr auto kBesideNames = std::to_array<std::string_view>(
    {"fileno", "seek", "truncate", "fsync", "fdopen", "connect", "cursor", "rollback"});

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

const TryingName* trying_name(std::string_view name) {
  const auto row = std::find_if(kTryingNames.begin(), kTryingNames.end(),
                                [name](const TryingName& one) { return one.name == name; });
  return row == kTryingNames.end() ? nullptr : &*row;
}

// (A loop that fetches rows waits for the contents of the database, not for a lock: that counts as
// work.)
bool may_be_work(std::string_view name) {
  return !snapshot::call_rests(name) && !snapshot::call_is_idle(name) &&
         !is_among(kBesideNames, name) && trying_name(name) == nullptr;
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
  const bool sleeps =
      tables.text(thread.wait.syscall_name).find("nanosleep") != std::string_view::npos;
  const auto& frames = tables.stacks()[thread.samples.back().stack].frames;
  for (std::size_t i = 0; i < std::min(frames.size(), kMaxNativeDepth); ++i) {
    const Frame& frame = tables.frame(frames[i]);
    if (frame.kind == FrameKind::kPython) {
      return false;
    }
    if (is_busy_database(frame, sleeps, tables)) {
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

void add_try(Tries tries, LockPoll& poll) {
  poll.flock = poll.flock || tries == Tries::kFlock || tries == Tries::kEither;
  poll.posix = poll.posix || tries == Tries::kPosix || tries == Tries::kEither;
  poll.database = poll.database || tries == Tries::kDatabase;
  poll.existence = poll.existence || tries == Tries::kExistence;
  poll.by_name_only = poll.by_name_only || tries == Tries::kObject;
}

// Calls of a lock's own say more than checks of its file.
void keep_strongest(LockPoll& poll) {
  if (poll.flock || poll.posix || poll.database) {
    poll.existence = poll.by_name_only = false;
  } else if (poll.by_name_only) {
    poll.flock = poll.posix = true;
    poll.existence = false;
  }
}

std::optional<LockPoll> poll_of_loop(const PythonLoop& loop, const Tables& tables) {
  LockPoll poll;
  bool rests = false;
  bool tries = false;
  for (const LoopCall& call : loop.calls) {
    const std::string_view name = tables.text(call.name);
    if (may_be_work(name)) {
      return std::nullopt;
    }
    rests = rests || snapshot::call_rests(name);
    const TryingName* row = trying_name(name);
    if (row == nullptr) {
      continue;
    }
    tries = true;
    add_try(row->tries, poll);
    if (const std::string_view object = tables.text(call.object); !object.empty()) {
      poll.objects.push_back(object);
    }
  }
  if (loop.cut || !rests || !tries) {
    return std::nullopt;
  }
  keep_strongest(poll);
  return poll;
}

bool only_rests(const PythonLoop& loop, const Tables& tables) {
  return !loop.cut && std::all_of(loop.calls.begin(), loop.calls.end(), [&](const LoopCall& call) {
    return snapshot::call_rests(tables.text(call.name));
  });
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
    if (!only_rests(loop, tables)) {
      return poll_of_loop(loop, tables);
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
