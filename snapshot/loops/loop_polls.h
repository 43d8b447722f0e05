// Decides from the calls of a loop (python_loop.h) whether it asks for something between its rests,
// and for what.
//
// What a call asks for is known by the type of its object or the module of its function. A name
// alone decides nothing: the loop then asks for something unknown. (Captures of older versions have
// names only; there, names of the language itself and of its clock count.)
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "snapshot/loops/python_loop.h"
#include "snapshot/wait.h"

namespace oddrank::snapshot {

struct NamedCall {
  std::string_view name;            // "is_set"
  std::string_view owner;           // "threading.Event"; "" if unknown
  bool with_text = false;           // its object is known as a text
  bool moves_on = false;            // LoopCall::moves_on
  bool ends = false;                // LoopCall::ends
  Known may_end = Known::kUnknown;  // LoopCall::may_end
};

// Splits the name of a call (LoopCall::name).
NamedCall named_call(std::string_view name, bool with_text);

// Returns what a call asks for; nullopt if it asks for nothing, as a call of the language itself. A
// call that acts on another file or key at each turn, or writes to a file, may be work: kUnknown.
std::optional<PollOn> asked_by(const NamedCall& call);

// Returns whether it writes to a file: it asks for nothing, and its loop may be work.
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

// Returns what the loop asks for, and the call that shows it best; nullopt if all its calls are the
// language's: the loop rests, and reads clocks and variables.
std::optional<AskingCall> find_asking_call(const NamedLoop& loop);

// Returns whether the loop may end by the answer to a call that is known to ask for something.
// kUnknown: there are such calls, and it is not known whether they end the loop.
Known ends_by_answer(const NamedLoop& loop);

// Returns whether the loop makes calls, and asks for nothing.
bool only_rests(const NamedLoop& loop);

// Returns whether it rests, and asks for nothing but events of its own process: a heartbeat, which
// runs until its process tells it to end.
bool only_ticks(const NamedLoop& loop);

}  // namespace oddrank::snapshot
