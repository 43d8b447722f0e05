// Whether the pids of /proc are those of our own pid namespace. In the mount namespace of a
// container (nsenter -m), or below `unshare --pid` without a /proc of its own, they are not: ptrace
// and process_vm_readv would then reach an unrelated process with the same number.
#pragma once

#include <string_view>

#include "base/result.h"

namespace oddrank {

// Fails with kUnsupported and the remedy if they are not. Succeeds if /proc is not mounted: listing
// processes fails later.
Status check_own_proc();

// Does the same for a process `pid`, from the target of /proc/self ("" if none) and the text of
// /proc/self/status, which has no NSpid before Linux 4.1.
Status check_own_proc(int pid, std::string_view self, std::string_view status);

}  // namespace oddrank
