// Names are those of Python's standard library, torch, mpi4py, psutil, filelock and sqlite3.
#include "aggregate/view/polling.h"

#include <algorithm>
#include <array>

#include "snapshot/call_names.h"

namespace oddrank::aggregate {
namespace {

using snapshot::call_is_idle;
using snapshot::call_rests;
using snapshot::LoopCall;
using snapshot::PythonLoop;
using snapshot::StringId;
using snapshot::ThreadCapture;

enum class Asking : std::uint8_t {
  kPlainly,    // the name means nothing else
  kGenerally,  // other things have methods of this name; counts only in a `while` loop that rests
  kAbout,      // the same, and only if it is told a text: dict.get(1) and set.add(x) are not meant
};

struct AskingName {
  std::string_view name;
  PollOn on;
  Asking how = Asking::kPlainly;
};

constexpr auto kAskingNames = std::to_array<AskingName>({
    {"exists", PollOn::kFile},
    {"lexists", PollOn::kFile},
    {"isfile", PollOn::kFile},
    {"is_file", PollOn::kFile},
    {"isdir", PollOn::kFile},
    {"is_dir", PollOn::kFile},
    {"islink", PollOn::kFile},
    {"is_symlink", PollOn::kFile},
    {"ismount", PollOn::kFile},
    {"stat", PollOn::kFile},
    {"lstat", PollOn::kFile},
    {"access", PollOn::kFile},
    {"getsize", PollOn::kFile},
    {"getmtime", PollOn::kFile},
    {"listdir", PollOn::kFile},
    {"scandir", PollOn::kFile},
    {"iterdir", PollOn::kFile},
    {"glob", PollOn::kFile},
    {"iglob", PollOn::kFile},
    {"rglob", PollOn::kFile},
    {"read_text", PollOn::kFile, Asking::kGenerally},
    {"read_bytes", PollOn::kFile, Asking::kGenerally},
    {"readline", PollOn::kFile, Asking::kGenerally},
    {"open", PollOn::kFile, Asking::kGenerally},

    {"flock", PollOn::kLockFile},
    {"lockf", PollOn::kLockFile},
    {"mkdir", PollOn::kLockFile, Asking::kGenerally},
    {"link", PollOn::kLockFile, Asking::kGenerally},
    {"symlink", PollOn::kLockFile, Asking::kGenerally},
    {"symlink_to", PollOn::kLockFile, Asking::kGenerally},

    {"check", PollOn::kKey},
    {"num_keys", PollOn::kKey},
    {"compare_set", PollOn::kKey},
    {"multi_get", PollOn::kKey},
    {"get", PollOn::kKey, Asking::kAbout},
    {"add", PollOn::kKey, Asking::kAbout},

    {"is_completed", PollOn::kWork},
    {"is_success", PollOn::kWork},
    {"Test", PollOn::kWork},
    {"Testall", PollOn::kWork},
    {"Testany", PollOn::kWork},
    {"Iprobe", PollOn::kWork},
    {"iprobe", PollOn::kWork},
    {"test", PollOn::kWork, Asking::kGenerally},
    {"testall", PollOn::kWork},
    {"completed", PollOn::kWork, Asking::kGenerally},

    {"query", PollOn::kDevice},

    {"poll", PollOn::kChild},
    {"waitpid", PollOn::kChild},
    {"pid_exists", PollOn::kChild},
    {"is_running", PollOn::kChild},
    {"kill", PollOn::kChild, Asking::kGenerally},

    {"is_alive", PollOn::kThread},
    {"active_count", PollOn::kThread, Asking::kGenerally},
    {"done", PollOn::kThread},
    {"running", PollOn::kThread, Asking::kGenerally},

    {"acquire", PollOn::kLock},
    {"try_acquire", PollOn::kLock},
    {"try_lock", PollOn::kLock},
    {"trylock", PollOn::kLock},
    {"locked", PollOn::kLock},
    {"lock", PollOn::kLock, Asking::kGenerally},

    {"is_set", PollOn::kEvent},
    {"isSet", PollOn::kEvent},
    {"wait", PollOn::kEvent, Asking::kGenerally},

    {"empty", PollOn::kQueue},
    {"qsize", PollOn::kQueue},
    {"get_nowait", PollOn::kQueue},
    {"put_nowait", PollOn::kQueue, Asking::kGenerally},
    {"full", PollOn::kQueue, Asking::kGenerally},

    {"execute", PollOn::kDatabase, Asking::kGenerally},
    {"commit", PollOn::kDatabase, Asking::kGenerally},
    {"begin", PollOn::kDatabase, Asking::kGenerally},

    {"connect", PollOn::kConnection, Asking::kGenerally},
    {"connect_ex", PollOn::kConnection},
    {"create_connection", PollOn::kConnection, Asking::kGenerally},
    {"urlopen", PollOn::kConnection, Asking::kGenerally},
    {"request", PollOn::kConnection, Asking::kGenerally},

    {"ready", PollOn::kReady},
    {"is_ready", PollOn::kReady},
    {"is_done", PollOn::kReady},
    {"is_finished", PollOn::kReady},
    {"finished", PollOn::kReady, Asking::kGenerally},
});

template <typename Names, typename Name>
bool is_one_of(const Names& names, const Name& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const AskingName* asking_name(std::string_view name) {
  const auto row = std::find_if(kAskingNames.begin(), kAskingNames.end(),
                                [name](const AskingName& one) { return one.name == name; });
  return row == kAskingNames.end() ? nullptr : &*row;
}

bool rests(const JobView& view, const PythonLoop& loop) {
  return std::any_of(loop.calls.begin(), loop.calls.end(),
                     [&](const LoopCall& call) { return call_rests(view.text(call.name)); });
}

bool counts(const AskingName& row, const LoopCall& call, const PythonLoop& loop, bool rested) {
  switch (row.how) {
    case Asking::kPlainly:
      // A `for` loop that looks at one file after another does not wait.
      return rested || !loop.iterates;
    case Asking::kGenerally:
      return rested && !loop.iterates;
    default:
      return rested && !loop.iterates && call.object != StringId{};
  }
}

// Returns whether the call may be work.
bool may_work(const JobView& view, const LoopCall& call) {
  const std::string_view name = view.text(call.name);
  return !call_rests(name) && !call_is_idle(name) && asking_name(name) == nullptr;
}

bool has_work(const JobView& view, const PythonLoop& loop) {
  return loop.cut || std::any_of(loop.calls.begin(), loop.calls.end(),
                                 [&](const LoopCall& call) { return may_work(view, call); });
}

// Frames of libraries that poll by themselves.
struct PollingFrame {
  std::string_view file;      // Python: its path contains this; native: its module's name begins so
  std::string_view function;  // contained in the frame's short name; "" = any
  snapshot::FrameKind kind;
  PollOn on;
  std::string_view what;
};

constexpr auto kPython = snapshot::FrameKind::kPython;
constexpr auto kNative = snapshot::FrameKind::kNative;
constexpr auto kPollingFrames = std::to_array<PollingFrame>({
    {"filelock/", "acquire", kPython, PollOn::kLockFile, "acquire"},
    {"torch/utils/file_baton.py", "wait", kPython, PollOn::kLockFile, "wait"},
    {"/subprocess.py", "_wait", kPython, PollOn::kChild, "wait"},
    {"", "c10d::FileStore::", kNative, PollOn::kKey, "get"},
    {"", "sqliteDefaultBusyCallback", kNative, PollOn::kDatabase, "execute"},
});

constexpr std::size_t kMaxPollingDepth = 24;  // frames from the innermost on

bool is_polling_frame(const ShownFrame& frame, std::string_view path, const PollingFrame& row) {
  const bool named = row.function.empty() || frame.name.find(row.function) != std::string::npos;
  return frame.kind == row.kind && named &&
         (row.file.empty() || path.find(row.file) != std::string_view::npos);
}

bool sleeps(const JobView& view, const ThreadCapture& thread) {
  return view.text(thread.wait.syscall_name).find("nanosleep") != std::string_view::npos;
}

// The busy handler sleeps within the library. A stripped one has no names of its own; but nothing
// else in it sleeps.
bool in_busy_database(const JobView& view, const ThreadCapture& thread, const ShownFrame& frame) {
  return frame.kind == kNative && sleeps(view, thread) && frame.file.starts_with("libsqlite3");
}

std::optional<Poll> poll_of_frames(const JobView& view, const ThreadCapture& thread) {
  const auto frames = view.model().all_frames(thread.samples.back());
  for (std::size_t i = 0; i < std::min(frames.size(), kMaxPollingDepth); ++i) {
    const ShownFrame frame = view.model().shown(frames[i]);
    const std::string_view path = view.text(view.capture().tables.frame(frames[i]).file);
    if (in_busy_database(view, thread, frame)) {
      return Poll{PollOn::kDatabase, "execute", "", std::nullopt};
    }
    for (const PollingFrame& row : kPollingFrames) {
      if (is_polling_frame(frame, path, row)) {
        const StringId object = row.on == PollOn::kKey        ? thread.wait.key
                                : row.on == PollOn::kLockFile ? thread.wait.path
                                                              : StringId{};
        return Poll{row.on, std::string(row.what), std::string(view.text(object)), std::nullopt};
      }
    }
    if (frame.user) {
      break;  // beyond it, the library is no longer what waits
    }
  }
  return std::nullopt;
}

enum class Whose : std::uint8_t { kProgram, kLibrary };

// Libraries wait for their own threads, queues and events in loops, and have better words for it
// (python_waits.h).
bool is_of_library(const AskingName& row) {
  constexpr std::array kOfLibraries = {PollOn::kLockFile, PollOn::kKey,      PollOn::kWork,
                                       PollOn::kDevice,   PollOn::kDatabase, PollOn::kFile};
  return row.how == Asking::kPlainly && is_one_of(kOfLibraries, row.on);
}

std::optional<Poll> find_poll(const JobView& view, const PythonLoop& loop, Whose whose) {
  if (has_work(view, loop)) {
    return std::nullopt;
  }
  const bool rested = rests(view, loop);
  std::optional<Poll> best;
  for (const LoopCall& call : loop.calls) {
    const AskingName* row = asking_name(view.text(call.name));
    if (row == nullptr || !counts(*row, call, loop, rested) ||
        (whose == Whose::kLibrary && !is_of_library(*row))) {
      continue;
    }
    if (!best || row->on < best->on) {
      best = Poll{row->on, std::string(row->name), std::string(view.text(call.object)), loop.frame};
    }
  }
  return best;
}

}  // namespace

std::optional<Poll> poll_in(const JobView& view, const PythonLoop& loop) {
  return find_poll(view, loop, Whose::kProgram);
}

bool only_rests(const JobView& view, const PythonLoop& loop) {
  return rests(view, loop) && !has_work(view, loop) && !poll_in(view, loop);
}

std::optional<Poll> poll_of(const JobView& view, const ThreadCapture& thread) {
  if (thread.samples.empty()) {
    return std::nullopt;
  }
  if (auto poll = poll_of_frames(view, thread)) {
    return poll;
  }
  const snapshot::ThreadSample& last = thread.samples.back();
  const bool apart = last.python_stack != snapshot::StackId{};
  const auto& frames =
      view.capture().tables.stacks()[apart ? last.python_stack : last.stack].frames;
  for (const PythonLoop& loop : thread.loops) {
    if (loop.frame >= frames.size()) {
      continue;
    }
    const bool user = view.model().shown(frames[loop.frame]).user;
    if (auto poll = find_poll(view, loop, user ? Whose::kProgram : Whose::kLibrary)) {
      return poll;
    }
    // What the program itself does in a loop is its work. A library's loop may be part of a call
    // that an outer loop makes again and again, and so may a loop that only rests.
    if (user && !only_rests(view, loop)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::string_view poll_noun(PollOn on) {
  switch (on) {
    case PollOn::kLockFile:
      return "a lock file";
    case PollOn::kKey:
      return "a key of a store";
    case PollOn::kWork:
      return "communication that was begun";
    case PollOn::kDevice:
      return "the device";
    case PollOn::kChild:
      return "a process";
    case PollOn::kThread:
      return "a thread or task";
    case PollOn::kLock:
      return "a lock";
    case PollOn::kEvent:
      return "an event";
    case PollOn::kQueue:
      return "a queue";
    case PollOn::kDatabase:
      return "a database's lock";
    case PollOn::kFile:
      return "a file";
    case PollOn::kConnection:
      return "a connection";
    case PollOn::kReady:
      return "something that is not ready";
  }
  return "";
}

}  // namespace oddrank::aggregate
