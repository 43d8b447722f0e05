// Paths of a process as it sees them itself.
//
// /proc shows paths (maps, links) from the root of the reader. If the process lives below another
// root (chroot), or in a mount namespace made below a chroot that it shares with the reader, they
// begin with its root folder: "/srv/image/data/x" is its "/data/x". Paths that a process names have
// no such prefix and are opened below its root (files/open_named.h), so the prefix is removed
// wherever /proc is read.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace oddrank::attach {

class RootPath {
 public:
  // The root "/", which removes nothing.
  RootPath() = default;
  // `link`: the text of /proc/PID/root.
  explicit RootPath(std::string_view link);
  // Reads the link. If we may not, or the process has ended, nothing is removed.
  static RootPath of(pid_t pid);

  // Returns "/data/x" for "/srv/image/data/x", and "/" for the root itself. Anything else is
  // returned as it is: a file that was opened outside, "pipe:[7]", "[heap]".
  std::string_view below(std::string_view path) const;

 private:
  std::string prefix_;  // without a slash at its end
};

// Reads a link of a process to a path ("cwd", "exe", "fd/1"), as the process sees it.
Result<std::string> read_process_link(pid_t pid, const std::string& name);

}  // namespace oddrank::attach
