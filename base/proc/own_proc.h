// Whether the pids of /proc are those of our own pid namespace. In the mount namespace of a
// container (nsenter -m), or below `unshare --pid` without a /proc of its own, they are not: ptrace
// and process_vm_readv would then reach an unrelated process with the same number.
#pragma once

#include <string_view>

#include "base/result.h"

namespace oddrank {

// Fails with kUnsupported and the remedy. A /proc that is not mounted at all is not our business:
// whoever lists processes says so.
Status check_own_proc();

// The same for a process `pid`, from what /proc/self leads to ("" if nowhere) and the text of
// /proc/self/status, in which a kernel before Linux 4.1 has no NSpid.
Status check_own_proc(int pid, std::string_view self, std::string_view status);

}  // namespace oddrank
