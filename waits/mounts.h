// Finds the file system that a path lies on, from the mounts as the process itself sees them
// (/proc/PID/mountinfo, proc(5)). Only text is read: nothing is stat'ed, since the file system may
// be the one that does not answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oddrank::waits {

inline constexpr std::size_t kMaxMountinfo = std::size_t{4} << 20;  // bytes that are read

struct Mount {
  std::string root;     // which part of the file system is mounted, mostly "/"
  std::string folder;   // where it is mounted: "/lustre"
  std::string kind;     // "nfs4", "lustre", "ext4", "fuse.sshfs"
  std::string source;   // "server:/export", "10.0.0.3@tcp:/scratch", "/dev/sda1"
  std::string options;  // of the file system: "rw,freezer"
  std::string device;   // the kernel's number of the file system: "254:1"
};

// Parses one line of mountinfo; nullopt if it is malformed.
std::optional<Mount> parse_mount(std::string_view line);

// Finds the mount whose folder is the longest prefix of `path`; if several have the same folder,
// the last one, which covers the others. Returns nullopt if there is none (`path` is not absolute,
// the table is cut).
std::optional<Mount> mount_of(std::string_view mountinfo, std::string_view path);

// Returns the device of the mount with this id (mnt_id of fdinfo), as major << 32 | minor; nullopt
// if the table has no such mount: the file was opened in another mount namespace.
std::optional<std::uint64_t> device_of_mount(std::string_view mountinfo, std::uint64_t id);

// Returns whether this node's kernel keeps the file system on a disk or in memory, and programs
// write to it. What is neither remote nor local is unknown.
bool is_local(const Mount& mount);

// Returns whether something other than this node's kernel must answer: a server, or (FUSE) another
// process.
bool is_remote(const Mount& mount);

// Returns "nfs4 server:/export at /data".
std::string mount_words(const Mount& mount);

}  // namespace oddrank::waits
