// Finds the kernel thread of a Python thread.
//
// From 3.11 on CPython stores the tid. Before that, only the pthread_t is known: the address of
// glibc's struct pthread, which has the tid in a field. The offset of this field is found once per
// process, in the struct of the main thread, whose tid is the pid. After a fork() without Python's
// hooks (uWSGI's workers, programs that embed Python), the child's stored tid is still the
// parent's; there, too, the pthread_t leads to the tid. All tids here are in the target's own pid
// namespace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/target.h"
#include "cpython/python_memory.h"
#include "cpython/thread_state.h"

namespace oddrank::cpython {

class KernelTids {
 public:
  // Returns one tid for each row; 0 = the thread exited, or its tid could not be found. `live`:
  // known tids of the target's threads. A stored tid that is not among them is replaced if another
  // one is found.
  std::vector<pid_t> resolve(PythonMemory& memory,
                             Addr runtime,
                             std::span<const ThreadStateRow> rows,
                             std::span<const pid_t> live);

 private:
  void correct_stale(PythonMemory& memory,
                     Addr runtime,
                     std::span<const ThreadStateRow> rows,
                     std::vector<pid_t>& tids);

  // Offset of the tid in struct pthread of this target; searched for until it is found.
  std::optional<std::uint32_t> offset_;
};

// Corrects the tids of thread states that one thread made and another uses (up to 3.12, every
// interpreter except the main one begins with such a state): they have their creator's tid. The
// right tid belongs to the native stack of the frames: `anchors` are addresses on it, null if
// unknown. `main_tid` is the process's main thread. Tids that cannot be found stay.
void correct_tids(const attach::Target& target,
                  std::span<const ThreadStateRow> rows,
                  std::span<const Addr> anchors,
                  pid_t main_tid,
                  std::vector<pid_t>& tids);

}  // namespace oddrank::cpython
