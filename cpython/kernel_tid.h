// Which kernel thread a Python thread is.
//
// From 3.11 on CPython notes the tid itself. Before that only the pthread_t is known: the address
// of glibc's struct pthread, in which the tid is a field. Its place is found once per process, in
// the struct of the main thread, whose tid is the pid. Both are right in forked children, too. All
// tids here are those of the target's own pid namespace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/target.h"
#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"
#include "cpython/thread_state.h"

namespace oddrank::cpython {

class KernelTids {
 public:
  // One tid for each row; 0 = the thread ended, or its tid could not be found out.
  std::vector<pid_t> resolve(const attach::Target& target,
                             RemoteReader& reader,
                             const Layout& layout,
                             Addr runtime,
                             std::span<const ThreadStateRow> rows);

 private:
  // Offset of the tid in struct pthread of this target; looked for until it is found.
  std::optional<std::uint32_t> offset_;
};

// A thread state that was made by one thread and is used by another (up to 3.12 interpreters beside
// the main one come with one) still tells the tid of its maker. The native stack on which its
// frames run tells better: `anchors` are addresses on it, null where none is known. `main_tid`: of
// the process's main thread. Corrects `tids`; what cannot be found out stays.
void correct_tids(const attach::Target& target,
                  std::span<const ThreadStateRow> rows,
                  std::span<const Addr> anchors,
                  pid_t main_tid,
                  std::vector<pid_t>& tids);

}  // namespace oddrank::cpython
