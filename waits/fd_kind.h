// Determines what an open file is from the text of its link in /proc/PID/fd alone: nothing is
// opened or stat'ed, since the file system may be the one that does not answer.
#pragma once

#include <string>
#include <string_view>

#include "snapshot/wait.h"

namespace oddrank::waits {

struct LinkKind {
  snapshot::WaitOn on = snapshot::WaitOn::kUnknown;
  std::string path;  // the link; a deleted file keeps its name without " (deleted)"
  std::string note;  // what the path does not say: "deleted", "a FIFO"; may be empty
};

// A program that makes a terminal for another one uses the side called /dev/ptmx, the other program
// /dev/pts/N. Returns for a /dev/ptmx a link that names that N, from the text of /proc/PID/fdinfo
// (Linux 4.15 and later); for any other file, the link itself.
std::string terminal_side(const std::string& link, std::string_view info);

// Determines the kind from the link, or from what terminal_side() makes of it; `wchan`
// distinguishes a FIFO from a file, since both have a plain path. An empty link returns kUnknown.
LinkKind fd_kind(std::string_view link, std::string_view wchan);

}  // namespace oddrank::waits
