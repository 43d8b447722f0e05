// Decides from the calls of a loop (python_loop.h) whether it asks for something between its rests,
// and for what.
//
// What is asked is known if the calls' objects are: by their types, and by the modules of
// functions. The names of calls decide nothing: a loop with a call of which no more is known than a
// name asks for something that is not known. (Captures of older versions have names only; there,
// those of the language itself and of its clock count as what they are.)
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "snapshot/loops/poll_on.h"
#include "snapshot/wait.h"

namespace oddrank::snapshot {

struct NamedCall {
  std::string_view name;            // "is_set"
  std::string_view owner;           // "threading.Event"; "" if unknown
  bool with_text = false;           // what it acts on is known as a text
  bool moves_on = false;            // LoopCall::moves_on
  bool ends = false;                // LoopCall::ends
  Known may_end = Known::kUnknown;  // LoopCall::may_end
};

// Splits the name of a call (LoopCall::name).
NamedCall named_call(std::string_view name, bool with_text);

// Returns what a call asks for; nullopt if it asks nobody: it is of the language. A call that acts
// on another file or key at each turn, or puts data into a file, may be work, so what it asks for
// counts as unknown.
std::optional<PollOn> asked_by(const NamedCall& call);

// Returns whether it puts data into a file: it asks for nothing, and its loop may be work.
bool puts_out(const NamedCall& call);

struct NamedLoop {
  bool iterates = false;  // PythonLoop::iterates
  bool cut = false;       // it calls more than is listed
  std::vector<NamedCall> calls;
};

struct AskingCall {
  PollOn on = PollOn::kUnknown;
  std::size_t call = 0;  // index into NamedLoop::calls
};

// Returns what the loop asks for, and the call that says most of it; nullopt if all of its calls
// are of the language: the loop rests, and looks at clocks and variables.
std::optional<AskingCall> find_asking_call(const NamedLoop& loop);

// Returns whether an answer may end the loop: to one of its calls of which it is known what it asks
// for. kUnknown: there are such calls, and it is not known whether the loop ends by them.
Known ends_by_answer(const NamedLoop& loop);

// Returns whether the loop makes calls, and asks for nothing.
bool only_rests(const NamedLoop& loop);

}  // namespace oddrank::snapshot
