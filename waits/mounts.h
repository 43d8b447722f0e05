// Which file system a path lies on, from the mounts as the process itself sees them
// (/proc/PID/mountinfo, proc(5)). By text alone: nothing is stat'ed, since the file system may be
// the one that does not answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oddrank::waits {

struct Mount {
  std::string root;     // what of the file system is mounted, mostly "/"
  std::string folder;   // where it is mounted: "/lustre"
  std::string kind;     // "nfs4", "lustre", "ext4", "fuse.sshfs"
  std::string source;   // "server:/export", "10.0.0.3@tcp:/scratch", "/dev/sda1"
  std::string options;  // of the file system: "rw,freezer"
};

// One line of mountinfo; nullopt if it is none.
std::optional<Mount> parse_mount(std::string_view line);

// The mount whose folder is the longest beginning of `path`; of several at one folder the last one,
// which covers the others. nullopt: none (a path that is not absolute, a table that is cut).
std::optional<Mount> mount_of(std::string_view mountinfo, std::string_view path);

// Others than this node's kernel must answer: a server, or (FUSE) another process.
bool is_remote(const Mount& mount);

// "nfs4 server:/export at /data".
std::string mount_words(const Mount& mount);

}  // namespace oddrank::waits
