// What holds a rank up at its own place, judged without the other ranks: at most one kind for each
// rank, the first story in the table of all_rules.h that applies. The rules use it, so that no two
// of them claim the same rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aggregate/rules/rule.h"
#include "aggregate/view/loop_work.h"

namespace oddrank::aggregate {

// Returns the kind of the rank's story. kSkippedCollective: nothing special, the rank is in code of
// its own. kUnknown: it was not read, or may wait for a rank that was not.
Kind local_story(const RuleInput& input, std::size_t at);

// Returns whether the rank is in state T or t, or frozen by its cgroup (which the letter does not
// show).
bool is_held_still(const JobView& view, const RankView& rank);

// Returns whether the rank itself, not a library that makes a group, waits for a key of a store.
bool waits_for_key(const JobView& view, const RankView& rank);

// Returns whether what the rank waits for, while its system call names nobody, may be for another
// rank to give: a key, a file, a lock on a file, an answer.
bool may_need_others(const RuleInput& input, const RankView& rank);

// Returns whether the rank sleeps until a file of the kernel wakes it (a poll of an eventfd, of
// several files): a library's own thread does that when something arrives, from whom is not known.
bool is_to_be_woken(const JobView& view, const RankView& rank);

// Returns whether it is a launcher that waits for those of other nodes. Its polling is no progress.
bool waits_for_launchers(const JobView& view, const RankView& rank);

// Returns whether its frames are those of a library that talks to services outside of the job.
bool talks_to_service(const JobView& view, const RankView& rank);

// Returns whether the rank waits at a terminal: for somebody to type, or to read what it writes.
bool waits_at_terminal(const JobView& view, const RankView& rank);

// Returns whether the rank waits, in open(), for somebody to open the other end of a named pipe.
// The kernel sleeps in this function (fs/pipe.c) for nothing else.
bool opens_named_pipe(const JobView& view, const RankView& rank);

// Returns whether the rank writes to a full pipe that no process of the job is known to read.
bool waits_for_reader(const JobView& view, const RankView& rank);

// Returns whether the rank waits at a pipe whose other end is known, and is in no process of a job
// of which every rank was read: in its launcher, or in a service.
bool has_end_outside(const JobView& view, const RankView& rank);
// Returns whether only its own process has the pipe's other end.
bool is_at_own_end(const RankView& rank);

// What the rank gets done (loop_work.h), or the process that is to deliver its input.
struct RankWork {
  LoopWork loop;
  const snapshot::ProcessCapture* worker = nullptr;  // null: the rank itself
};

// Returns nullopt if nothing is seen to get done.
std::optional<RankWork> work_of(const JobView& view, const RankView& rank);

// Why a rank waits in vain for a process that it has started.
enum class Doom : std::uint8_t {
  kNone = 0,
  kWaitsBack,      // it waits in a pipe for the rank itself, or for a lock of the rank's
  kCircle,         // its wait leads to processes of the rank that wait for each other
  kDead,           // for input, it may be any zombie among the rank's children
  kVfork,          // it stands still, and the rank is in vfork() for it
  kInheritedLock,  // nobody alive will release the lock that it waits for
  kSharedLock,     // it is dead, and may have kept the lock that the rank waits for
  kLostLock,       // the rank's lock or queue of multiprocessing is no other process's any more
  kLostWorker,     // a worker of a pool has ended with the work, and was replaced
};
struct DoomedChild {
  Doom why = Doom::kNone;
  const snapshot::ProcessCapture* process = nullptr;  // null: none, or it is not there any more
  std::vector<const snapshot::ProcessCapture*> circle;
};
DoomedChild doomed_child(const RuleInput& input, const RankView& rank);

}  // namespace oddrank::aggregate
