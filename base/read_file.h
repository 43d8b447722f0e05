// Reads whole small files into memory, bounded. For /proc and for files whose size is not trusted.
// Files that a target names are opened by attach/files/open_named.h.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/result.h"

namespace oddrank {

// Reads at most `limit` bytes; a longer file is cut there, not refused (a cut /proc table is still
// worth reading). Fails with the errno of open or read; `what` names path and reason.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{16} << 20);

// Does the same with an open file, from its present position; `path` is for messages.
Result<std::string> read_all(int fd, const std::string& path, std::size_t limit);

// Does the same with a file that one read(2) returns whole: files of /proc with one record (a
// thread's stat, status, syscall, wchan, sched; not maps). A read that does not fill the buffer is
// the last one, which saves a system call for each file.
Result<std::string> read_record(const std::string& path, std::size_t limit);

// Do the same with an open file, from its present position, or (reread_record) from its start;
// `path` is for messages.
Result<std::string> read_record_of(int fd, const std::string& path, std::size_t limit);
Result<std::string> reread_record(int fd, const std::string& path, std::size_t limit);

// Returns the last bytes of an open file, `most` at most; fewer, or none, if they cannot be read.
std::string read_end(int fd, std::size_t most);

// Returns the target of a symbolic link, for instance /proc/7/exe; at most 4096 bytes.
Result<std::string> read_link(const std::string& path);

}  // namespace oddrank
