// The order of the steps matters:
// - Locks that are polled come first: join_ends finds the processes that have the found lock files
//   open.
// - Ends and semaphores come next. join_processes describes holders that are known by then, and
//   guesses from frames only where there is none.
// - The pid in a lock file counts only if no process has the file open. Lock files are dated after
//   that, so that the note names the holder first, then the file's age.
// - Sleepers in state D are counted after join_processes, which replaces the notes of a wait for a
//   pool of workers.
// - The node's pressure comes last: its page faults are counted up to the end.
#include "waits/node/join_node.h"

#include <chrono>
#include <string>
#include <string_view>

#include "base/isolated.h"
#include "base/split.h"
#include "waits/ends/join_ends.h"
#include "waits/ends/read_ends.h"
#include "waits/node/join_processes.h"
#include "waits/node/lock_file_ages.h"
#include "waits/node/lock_file_owners.h"
#include "waits/node/lock_holders.h"
#include "waits/node/uninterruptible.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;

// Runs in a child, because it reads file systems, which may block.
void note_pressure(const MajorFaults& before, Capture& capture) {
  constexpr std::chrono::milliseconds kPatience{1000};
  const IsolatedTask task{[&](int fd) {
                            std::string lines;
                            for (const std::string& note : node_pressure(capture, before)) {
                              lines += note + "\n";
                            }
                            send_bytes(fd, lines);
                          },
                          kPatience};
  const IsolatedResult result = run_isolated({task}, 1).front();
  for (const std::string_view note : split(result.bytes, '\n')) {
    if (!note.empty()) {
      capture.nodes.front().notes.emplace_back(note);
    }
  }
}

}  // namespace

NodeStart start_node(const Capture& capture, HeldLocksReader& locks) {
  return {read_major_faults(capture), locks.finish()};
}

void join_node(const NodeStart& start, const OpenTarget& open, Capture& capture) {
  name_polled_locks(start.locks, capture);
  name_lock_holders(capture);
  join_ends(read_ends(capture), capture);
  name_semaphore_owners(capture, open);
  name_lock_file_owners(capture);
  date_lock_files(capture);
  join_processes(capture);
  count_uninterruptible(capture);
  note_pressure(start.faults, capture);
}

void join_cores(Capture& capture) {
  join_processes(capture);
}

}  // namespace oddrank::waits
