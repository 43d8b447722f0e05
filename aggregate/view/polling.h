// Threads that wait in a loop of their own: they ask for something again and again, and rest in
// between. What they ask for is read out of the calls of the loop (snapshot/python_loop.h).
//
// A loop is a poll if one of its calls asks for something outside of the thread (whether a file is
// there, whether work is done, ...) and all others only rest, look at clocks or handle texts. A
// call that is not known may be work: then the loop is no poll. That Python's state does not change
// between the samples is for the caller to check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate/view/job_view.h"
#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

// What a poll asks for. The values are ordered: the most telling comes first if a loop asks for
// several.
enum class PollOn : std::uint8_t {
  kLockFile,    // flock(LOCK_NB), mkdir or O_EXCL as a lock, filelock
  kKey,         // a key of a store
  kWork,        // communication that was begun: Work, a request of MPI
  kDevice,      // an event or a stream of the device
  kChild,       // a process
  kThread,      // a thread, or a task of a pool
  kLock,        // a lock, by trying it
  kEvent,       // an event that another thread sets
  kQueue,       // an item
  kDatabase,    // a lock of a database
  kFile,        // that a file or directory is there, or what is in it
  kConnection,  // somebody who listens or answers
  kReady,       // something that only says whether it is ready
};

struct Poll {
  PollOn on = PollOn::kReady;
  std::string what;    // the call that asks: "exists"
  std::string object;  // of that call, as the capture has it; "" if unknown
  // The frame whose loop it is, as an index into the frames of the last sample's (python_)stack;
  // nullopt if the poll is a library's and was recognised by its frames.
  std::optional<std::uint32_t> frame;
};

// Returns what the thread polls for; nullopt if it does not poll, or that is not known.
std::optional<Poll> poll_of(const JobView& view, const snapshot::ThreadCapture& thread);

// Returns the same for one loop alone: for tests, and for callers with a loop of their own.
std::optional<Poll> poll_in(const JobView& view, const snapshot::PythonLoop& loop);

// Returns whether the loop only rests, looks at clocks and handles texts: it waits for nobody.
bool only_rests(const JobView& view, const snapshot::PythonLoop& loop);

// Returns "a lock file", "a key of a store", "a file".
std::string_view poll_noun(PollOn on);

}  // namespace oddrank::aggregate
