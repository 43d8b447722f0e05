// The kinds of things that threads poll for (loop_polls.h finds them).
#pragma once

#include <cstdint>

namespace oddrank::snapshot {

// What a poll asks for. The values are ordered: if a loop asks for several, the first counts.
enum class PollOn : std::uint8_t {
  kUnknown,     // something unknown, which may come from anywhere
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
  kFile,        // the existence or contents of a file or directory
  kConnection,  // a peer that listens or answers
};

// Returns whether another thread of the same process gives what is polled for.
constexpr bool is_of_own_process(PollOn on) {
  return on == PollOn::kThread || on == PollOn::kLock || on == PollOn::kEvent ||
         on == PollOn::kQueue;
}

}  // namespace oddrank::snapshot
