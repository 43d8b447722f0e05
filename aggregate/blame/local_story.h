// What holds a rank up at its own place, judged without the other ranks: one kind for each rank, by
// the first story in the table of all_rules.h that applies. So no two rules claim the same rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aggregate/rules/rule.h"
#include "aggregate/view/loop_work.h"

namespace oddrank::aggregate {

// Returns the kind of the rank's story. kSkippedCollective: nothing special, the rank is in its own
// code. kUnknown: it was not read, or may wait for a rank that was not.
Kind local_story(const RuleInput& input, std::size_t at);

// Returns whether the rank is in state T or t, or frozen by its cgroup (which the state letter does
// not show).
bool is_held_still(const JobView& view, const RankView& rank);

// Returns whether the rank itself, not a library that makes a group, waits for a key of a store.
bool waits_for_key(const JobView& view, const RankView& rank);

// Returns whether the rank's system call names no holder, and another rank may have to give what it
// waits for: a key, a file, a lock on a file, an answer.
bool may_need_others(const RuleInput& input, const RankView& rank);

// Returns whether the rank sleeps until an eventfd or one of several polled files wakes it: a
// library's own thread does that when something arrives from an unknown sender.
bool is_to_be_woken(const JobView& view, const RankView& rank);

// Returns whether it is a launcher that waits for the launchers of other nodes. Its polling is no
// progress.
bool waits_for_launchers(const JobView& view, const RankView& rank);

// Returns whether its frames belong to a library that talks to services outside of the job.
bool talks_to_service(const JobView& view, const RankView& rank);

// Returns whether the rank waits at a terminal: for input, or because its output is not read.
bool waits_at_terminal(const JobView& view, const RankView& rank);

// Returns whether the rank waits, in open(), until the other end of a named pipe is opened. The
// kernel sleeps in this function (fs/pipe.c) for nothing else.
bool opens_named_pipe(const JobView& view, const RankView& rank);

// Returns whether the rank writes to a full pipe that no process of the job is known to read.
bool waits_for_reader(const JobView& view, const RankView& rank);

// Returns whether the rank waits at a pipe whose other end is known and outside of the job (in its
// launcher, or in a service), and every rank was read.
bool has_end_outside(const JobView& view, const RankView& rank);
// Returns whether only its own process has the pipe's other end.
bool is_at_own_end(const RankView& rank);

// The work of the rank (loop_work.h), or of the process that has to deliver its input.
struct RankWork {
  LoopWork loop;
  const snapshot::ProcessCapture* worker = nullptr;  // null: the rank itself
};

// Returns nullopt if no work is seen to go on.
std::optional<RankWork> work_of(const JobView& view, const RankView& rank);

// Why a rank waits in vain for a process that it has started.
enum class Doom : std::uint8_t {
  kNone = 0,
  kWaitsBack,      // it waits at a pipe for the rank itself, or for a lock of the rank
  kCircle,         // its wait leads to processes of the rank that wait for each other
  kDead,           // it is a zombie; for a wait for input, any zombie child counts
  kVfork,          // it stands still, and the rank waits for it in vfork()
  kInheritedLock,  // no living thread will release the lock that it waits for
  kSharedLock,     // it is dead, and may have kept the lock that the rank waits for
  kLostLock,       // no other process has the rank's multiprocessing lock or queue any more
  kLostWorker,     // a pool's worker has ended with its work undone, and was replaced
};
struct DoomedChild {
  Doom why = Doom::kNone;
  const snapshot::ProcessCapture* process = nullptr;  // null: none, or it is not there any more
  std::vector<const snapshot::ProcessCapture*> circle;
};
// Returns kNone if the rank waits for no such process.
DoomedChild doomed_child(const RuleInput& input, const RankView& rank);

}  // namespace oddrank::aggregate
