#include "snapshot/loops/loop_polls.h"

#include <algorithm>
#include <array>

#include "snapshot/loops/call_names.h"

namespace oddrank::snapshot {
namespace {

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

const AskingName* asking_name(std::string_view name) {
  const auto row = std::find_if(kAskingNames.begin(), kAskingNames.end(),
                                [name](const AskingName& one) { return one.name == name; });
  return row == kAskingNames.end() ? nullptr : &*row;
}

bool rests(const NamedLoop& loop) {
  return std::any_of(loop.calls.begin(), loop.calls.end(),
                     [](const NamedCall& call) { return call_rests(call.name); });
}

bool counts(const AskingName& row, const NamedCall& call, const NamedLoop& loop, bool rested) {
  switch (row.how) {
    case Asking::kPlainly:
      // A `for` loop that looks at one file after another does not wait.
      return rested || !loop.iterates;
    case Asking::kGenerally:
      return rested && !loop.iterates;
    default:
      return rested && !loop.iterates && call.with_text;
  }
}

// Returns whether the call may be work.
bool may_work(const NamedCall& call) {
  return !call_rests(call.name) && !call_is_idle(call.name) && asking_name(call.name) == nullptr;
}

bool has_work(const NamedLoop& loop) {
  return loop.cut || std::any_of(loop.calls.begin(), loop.calls.end(), may_work);
}

// Returns whether libraries ask so for something outside of the process.
bool is_asked_by_libraries(const AskingName& row) {
  constexpr std::array kOfLibraries = {PollOn::kLockFile, PollOn::kKey,      PollOn::kWork,
                                       PollOn::kDevice,   PollOn::kDatabase, PollOn::kFile};
  return row.how == Asking::kPlainly &&
         std::find(kOfLibraries.begin(), kOfLibraries.end(), row.on) != kOfLibraries.end();
}

}  // namespace

std::optional<AskingCall> find_asking_call(const NamedLoop& loop, Whose whose) {
  if (has_work(loop)) {
    return std::nullopt;
  }
  const bool rested = rests(loop);
  std::optional<AskingCall> best;
  for (std::size_t i = 0; i < loop.calls.size(); ++i) {
    const AskingName* row = asking_name(loop.calls[i].name);
    if (row == nullptr || !counts(*row, loop.calls[i], loop, rested) ||
        (whose == Whose::kLibrary && !is_asked_by_libraries(*row))) {
      continue;
    }
    if (!best || row->on < best->on) {
      best = AskingCall{row->on, i};
    }
  }
  return best;
}

bool only_rests(const NamedLoop& loop) {
  return rests(loop) && !has_work(loop) && !find_asking_call(loop, Whose::kProgram);
}

}  // namespace oddrank::snapshot
