// Threads that wait in a loop of their own: they ask for something again and again, and rest in
// between. What they ask for is read out of the calls of the loop (snapshot/loops/python_loop.h).
//
// Which loops are polls: snapshot/loops/loop_polls.h. That Python's state does not change between
// the samples is for the caller to check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate/view/job_view.h"
#include "snapshot/loops/poll_on.h"
#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

struct Poll {
  snapshot::PollOn on = snapshot::PollOn::kUnknown;
  std::string what;    // the call that asks: "exists"
  std::string object;  // of that call, as the capture has it; "" if unknown
  // The frame whose loop it is, as an index into the frames of the last sample's (python_)stack;
  // nullopt if the poll is a library's and was recognised by its frames.
  std::optional<std::uint32_t> frame;
};

// Returns what the thread polls for; nullopt if it does not poll. A loop polls if the thread rests
// in it for a short time again and again, and calls something else in between, or if what it asks
// for is known. If that is not known, it is PollOn::kUnknown: the loop may also work.
std::optional<Poll> poll_of(const JobView& view, const snapshot::ThreadCapture& thread);

// Returns whether the loop only rests, looks at clocks and handles texts: it waits for nobody.
bool only_rests(const JobView& view, const snapshot::PythonLoop& loop);

// Returns whether the innermost of the program's own loops that the thread is in only rests: it
// looks at variables or memory until these change, if it waits for anything.
bool rests_in_loop(const JobView& view, const snapshot::ThreadCapture& thread);

// Returns "a lock file", "a key of a store", "a file".
std::string_view poll_noun(snapshot::PollOn on);

}  // namespace oddrank::aggregate
