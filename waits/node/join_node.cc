// The order of the steps matters:
// - Locks that are polled come first: join_ends finds the processes that have the found lock files
//   open.
// - Ends and semaphores come next. join_processes describes holders that are known by then, and
//   guesses from frames only where there is none.
// - The pid in a lock file counts only if no process has the file open. The note names the
//   holder first, then the file's age.
// - Sleepers in state D are counted after join_processes, which replaces the notes of a wait for a
//   pool of workers.
// - The node's pressure is read meanwhile; the notes come last.
#include "waits/node/join_node.h"

#include <chrono>
#include <string>
#include <string_view>

#include "base/isolated.h"
#include "base/split.h"
#include "waits/ends/join_ends.h"
#include "waits/ends/read_ends.h"
#include "waits/node/join_processes.h"
#include "waits/node/lock_holders.h"
#include "waits/node/owners/lock_file_owners.h"
#include "waits/node/stuck_processes.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;

// Reads file systems, which may block: in a child, while the waits are joined.
PendingTask read_pressure(const MajorFaults& before, const Capture& capture) {
  constexpr std::chrono::milliseconds kPatience{1000};
  return PendingTask({[&](int fd) {
                        std::string lines;
                        for (const std::string& note : node_pressure(capture, before)) {
                          lines += note + "\n";
                        }
                        send_bytes(fd, lines);
                      },
                      kPatience});
}

void add_notes(std::string_view lines, Capture& capture) {
  for (const std::string_view note : split(lines, '\n')) {
    if (!note.empty()) {
      capture.nodes.front().notes.emplace_back(note);
    }
  }
}

}  // namespace

void start_counting(NodeStart& start, const Capture& capture) {
  start.faults = read_major_faults(capture);
}

void join_node(NodeStart& start,
               const OpenTarget& open,
               Capture& capture,
               std::chrono::milliseconds patience) {
  PendingTask pressure = read_pressure(start.faults, capture);
  name_polled_locks(start.locks.finish(), capture);
  name_lock_holders(capture);
  join_ends(read_ends(capture), capture);
  name_semaphore_owners(capture, open, patience);
  describe_lock_files(capture);
  join_processes(capture);
  count_uninterruptible(capture);
  add_notes(pressure.finish().bytes, capture);
}

void join_cores(Capture& capture) {
  join_processes(capture);
}

}  // namespace oddrank::waits
