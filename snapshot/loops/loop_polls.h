// Decides from the names of a loop's calls (python_loop.h) whether the loop polls, and for what.
//
// A loop is a poll if one of its calls asks for something outside of the thread (whether a file is
// there, whether work is done, ...) and all others only rest, look at clocks or handle texts
// (call_names.h). A call that is not known may be work: then the loop is no poll. The names are
// those of Python's standard library, torch, mpi4py, psutil, filelock and sqlite3.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "snapshot/loops/poll_on.h"

namespace oddrank::snapshot {

struct NamedCall {
  std::string_view name;
  bool with_text = false;  // what it acts on is known as a text
};

struct NamedLoop {
  bool iterates = false;  // a `for` loop
  bool cut = false;       // it calls more than is listed
  std::vector<NamedCall> calls;
};

struct AskingCall {
  PollOn on = PollOn::kReady;
  std::size_t call = 0;  // index into NamedLoop::calls
};

enum class Whose : std::uint8_t {
  kProgram,
  // Libraries wait for their own threads, queues and events in loops too. Only polls for what is
  // outside of the process count.
  kLibrary,
};

// Returns what the loop polls for; nullopt if it does not poll.
std::optional<AskingCall> find_asking_call(const NamedLoop& loop, Whose whose);

// Returns whether the loop only rests, looks at clocks and handles texts: it waits for nobody.
bool only_rests(const NamedLoop& loop);

}  // namespace oddrank::snapshot
