// Threads that poll in a loop of their own: they ask for something again and again, and rest in
// between. The calls of the loop show what they ask for (snapshot/loops/python_loop.h).
//
// Which loops are polls: snapshot/loops/loop_polls.h. The caller checks that Python's state does
// not change between the samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate/view/job_view.h"
#include "snapshot/loops/python_loop.h"
#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

struct Poll {
  snapshot::PollOn on = snapshot::PollOn::kUnknown;
  std::string what;    // the call that asks: "exists"
  std::string object;  // of that call, as in the capture; "" if unknown
  // The frame with the loop, as an index into the frames of the last sample's (python_)stack;
  // nullopt if it is a library's poll, recognised by its frames.
  std::optional<std::uint32_t> frame;
};

// Returns what the thread polls for; nullopt if it does not poll. A loop polls if what it asks for
// is known, or if the thread rests in it for short times and calls something else in between. The
// latter is PollOn::kUnknown: the loop may also work.
std::optional<Poll> poll_of(const JobView& view, const snapshot::ThreadCapture& thread);

// Returns whether the loop only rests, reads clocks and handles texts: it waits for no other
// process.
bool only_rests(const JobView& view, const snapshot::PythonLoop& loop);

// Returns whether the thread's innermost loop of the program only rests: if it waits for anything,
// then for a change of variables or memory.
bool rests_in_loop(const JobView& view, const snapshot::ThreadCapture& thread);

// Returns whether the thread is in a loop that only rests and never ends: it does nothing for
// anybody else.
bool rests_for_good(const JobView& view, const snapshot::ThreadCapture& thread);

// Returns "a lock file", "a key of a store", "a file".
std::string_view poll_noun(snapshot::PollOn on);

}  // namespace oddrank::aggregate
