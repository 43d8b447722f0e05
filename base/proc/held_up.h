// The file that holds up a child of ours: a file system that does not answer (a hung NFS server, a
// FUSE daemon) blocks every process that opens or reads something there. The path then explains a
// missed deadline.
#pragma once

#include <sys/types.h>

#include <string>

namespace oddrank {

// Returns "openat() of /home/ada/.nccl.conf" if the process is in a call on a file, "a page of a
// mapped file" if it sleeps in a page fault; "" if it is in another call, or runs. Reads its
// memory, so it must be our child. Touches no file system.
std::string held_up_by(pid_t child);

}  // namespace oddrank
