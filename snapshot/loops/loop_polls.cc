// Names of modules and types are from CPython 3.8 to 3.15, torch 1.10 to 2.11, mpi4py 3 and 4.
#include "snapshot/loops/loop_polls.h"

#include <algorithm>
#include <array>

namespace oddrank::snapshot {
namespace {

struct Owner {
  std::string_view begins;  // a function, a module, a type, or what either of these begins with
  std::optional<PollOn> on;
};

// The first that fits counts. nullopt: it asks for nothing.
constexpr auto kOwners = std::to_array<Owner>({
    {"builtins.open", PollOn::kFile},
    {"builtins", std::nullopt},
    {"time", std::nullopt},
    {"datetime", std::nullopt},
    {"logging", std::nullopt},
    {"math", std::nullopt},
    {"random", std::nullopt},
    {"_random", std::nullopt},
    {"fcntl", PollOn::kLockFile},
    {"torch._C._distributed_c10d.Work", PollOn::kWork},
    {"torch._C._distributed_c10d.", PollOn::kKey},
    {"mpi4py.MPI", PollOn::kWork},
    {"torch.cuda", PollOn::kDevice},
    {"subprocess", PollOn::kChild},
    {"multiprocessing.process", PollOn::kChild},
    {"multiprocessing.context", PollOn::kChild},
    {"multiprocessing.queues", PollOn::kQueue},
    {"psutil", PollOn::kChild},
    {"threading.Thread", PollOn::kThread},
    {"threading.Event", PollOn::kEvent},
    {"threading", PollOn::kLock},
    {"_thread", PollOn::kLock},
    {"concurrent.futures", PollOn::kThread},
    {"queue", PollOn::kQueue},
    {"_queue", PollOn::kQueue},
    {"sqlite3", PollOn::kDatabase},
    {"os.waitpid", PollOn::kChild},
    {"os.kill", PollOn::kChild},
    {"posix", PollOn::kFile},
    {"os", PollOn::kFile},
    {"posixpath", PollOn::kFile},
    {"genericpath", PollOn::kFile},
    {"pathlib", PollOn::kFile},
    {"glob", PollOn::kFile},
    {"io", PollOn::kFile},
    {"_io", PollOn::kFile},
    {"socket", PollOn::kConnection},
    {"_socket", PollOn::kConnection},
    {"urllib", PollOn::kConnection},
    {"http", PollOn::kConnection},
});

bool is_meant_by(const NamedCall& call, std::string_view begins) {
  if (begins.size() == call.owner.size() + 1 + call.name.size() && !call.owner.empty() &&
      begins.starts_with(call.owner) && begins.ends_with(call.name)) {
    return true;
  }
  return call.owner.starts_with(begins) &&
         (begins.ends_with('.') || call.owner.size() == begins.size() ||
          call.owner[begins.size()] == '.');
}

// Sources: Python/bltinmodule.c, Modules/timemodule.c.
bool is_name_of_language(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"sleep", "time", "monotonic", "perf_counter", "print",   "len",    "range", "int", "float",
       "str",   "min",  "max",       "abs",          "round",   "sum",    "any",   "all", "sorted",
       "zip",   "bool", "enumerate", "isinstance",   "getattr", "hasattr"});
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Returns whether it is a function of os.path, os or pathlib that works on a file's name as a text,
// and looks at no file; or one that asks for a property of an open file that does not change.
// Sources: Lib/posixpath.py, Lib/genericpath.py, Lib/pathlib.py, Modules/_io.
bool asks_nothing_of_files(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"join",         "split",      "splitext",    "splitdrive",  "splitroot", "basename",
       "dirname",      "normpath",   "normcase",    "abspath",     "relpath",   "isabs",
       "commonpath",   "expanduser", "expandvars",  "fspath",      "fsencode",  "fsdecode",
       "commonprefix", "getcwd",     "getenv",      "getpid",      "joinpath",  "with_name",
       "with_suffix",  "with_stem",  "relative_to", "is_absolute", "as_posix",  "isatty",
       "fileno",       "readable",   "writable",    "seekable"});
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_of_file(const NamedCall& call) {
  return call.owner.starts_with("_io") || call.owner.starts_with("io");
}

}  // namespace

NamedCall named_call(std::string_view name, bool with_text) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos
             ? NamedCall{name, {}, with_text}
             : NamedCall{name.substr(dot + 1), name.substr(0, dot), with_text};
}

// Sources: Modules/_io, Modules/posixmodule.c, Lib/pathlib.py.
bool puts_out(const NamedCall& call) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"write", "writelines", "pwrite", "writev", "pwritev", "write_text", "write_bytes", "flush",
       "truncate", "ftruncate", "fsync", "fdatasync", "sendfile", "copy_file_range"});
  const bool in_memory = call.owner == "_io.BytesIO" || call.owner == "_io.StringIO";
  return !in_memory && std::find(kNames.begin(), kNames.end(), call.name) != kNames.end();
}

std::optional<PollOn> asked_by(const NamedCall& call) {
  const auto row = std::find_if(kOwners.begin(), kOwners.end(), [&call](const Owner& one) {
    return is_meant_by(call, one.begins);
  });
  if (row != kOwners.end()) {
    if (row->on == PollOn::kFile && asks_nothing_of_files(call.name)) {
      return std::nullopt;
    }
    return row->on && (call.moves_on || (row->on == PollOn::kFile && puts_out(call)))
               ? PollOn::kUnknown
               : row->on;
  }
  return call.owner.empty() && is_name_of_language(call.name) ? std::nullopt
                                                              : std::optional(PollOn::kUnknown);
}

std::optional<AskingCall> find_asking_call(const NamedLoop& loop) {
  std::optional<AskingCall> found;
  for (std::size_t i = 0; i < loop.calls.size(); ++i) {
    const std::optional<PollOn> on = asked_by(loop.calls[i]);
    if (!on || !found) {
      found = on ? AskingCall{*on, i} : found;
      continue;
    }
    const NamedCall& call = loop.calls[i];
    const NamedCall& before = loop.calls[found->call];
    // If two calls end the loop, the first may raise in each turn, so that the second is never
    // reached: it does not count if less is known of it.
    const bool less = *on == PollOn::kUnknown && call.ends && before.ends;
    const bool better = on == found->on && call.with_text && !before.with_text;
    if (better || (on < found->on && !less)) {
      found = AskingCall{*on, i};
    }
  }
  // A loop that reads one file and writes another copies.
  const bool copies = found && found->on == PollOn::kFile && is_of_file(loop.calls[found->call]) &&
                      std::any_of(loop.calls.begin(), loop.calls.end(), puts_out);
  if (found && (loop.cut || copies)) {
    found->on = PollOn::kUnknown;
  }
  return found;
}

Known ends_by_answer(const NamedLoop& loop) {
  Known result = Known::kNo;
  for (const NamedCall& call : loop.calls) {
    if (asked_by(call).value_or(PollOn::kUnknown) == PollOn::kUnknown) {
      continue;
    }
    if (call.ends || call.may_end == Known::kYes) {
      return Known::kYes;
    }
    result = call.may_end == Known::kUnknown ? Known::kUnknown : result;
  }
  return result;
}

bool only_rests(const NamedLoop& loop) {
  return !loop.cut && !loop.calls.empty() && !find_asking_call(loop);
}

bool only_ticks(const NamedLoop& loop) {
  return !loop.cut && !loop.calls.empty() &&
         std::ranges::all_of(loop.calls, [](const NamedCall& call) {
           return asked_by(call).value_or(PollOn::kEvent) == PollOn::kEvent;
         });
}

}  // namespace oddrank::snapshot
