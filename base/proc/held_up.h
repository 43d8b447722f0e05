// Which file a child of ours is held up by: a file system that does not answer (a hung NFS server,
// a FUSE daemon) blocks whoever opens or reads something there, and the reason for a missed
// deadline is then its path.
#pragma once

#include <sys/types.h>

#include <string>

namespace oddrank {

// Returns "openat() of /home/ada/.nccl.conf" if the process is in a call on a file, "a page of a
// mapped file" if it sleeps in a page fault; "" if it is in another call, or runs. Reads its
// memory, so it must be ours. Asks no file system anything.
std::string held_up_by(pid_t child);

}  // namespace oddrank
