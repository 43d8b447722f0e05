// Opens what a process names: paths from its environment, memory, maps and configuration. Only this
// file does so (tests/architecture), because the process may be another user's while we are root:
//
// - below its own root folder, whatever links say (open_path.h),
// - with its user, its groups and no capability (open_as.h),
// - regular files only; a pipe or a socket only if the process itself has it open,
// - never waiting for the other end of a FIFO, never becoming a terminal's owner.
//
// May block if its file system does not answer: call it in a child (base/isolated.h).
#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "attach/files/open_as.h"
#include "attach/files/open_path.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

// Move-only. Paths are absolute, as the process sees them.
class NamedFiles {
 public:
  // kGone, kPermission: we may not see its root folder, or its rights are unclear (open_as.h).
  static Result<NamedFiles> of(pid_t pid);

  // Opens a regular file for reading. kUnsupported: it is something else.
  Result<UniqueFd> open(const std::string& path, LastLink last = LastLink::kRefused) const;
  // Reads at most `limit` bytes of a regular file.
  Result<std::string> read(const std::string& path,
                           std::size_t limit,
                           LastLink last = LastLink::kRefused) const;
  // Returns the text of a symbolic link.
  Result<std::string> link_text(const std::string& path) const;
  // Examines the file itself, not what a link leads to.
  Result<struct stat> examine(const std::string& path) const;
  // Returns how full the file system of a folder is.
  Result<struct statvfs> file_system(const std::string& path) const;
  // Returns the names in a folder, at most `limit`, without "." and "..".
  Result<std::vector<std::string>> list(const std::string& path, std::size_t limit) const;

  // Opens a FIFO for writing, without waiting. kNotFound: the process itself does not have it open
  // for reading; kUnsupported: it is no FIFO.
  Result<UniqueFd> open_pipe(const std::string& path) const;
  // Connects to a local stream socket; the descriptor does not block. kNotFound: the process itself
  // does not listen there; kUnsupported: it is no socket.
  Result<UniqueFd> connect_to(const std::string& path) const;

 private:
  NamedFiles(pid_t pid, UniqueFd root, Rights rights)
      : pid_(pid), root_(std::move(root)), rights_(std::move(rights)) {}

  // Finds a file of that type (S_IFREG, ...) with the process's rights.
  Result<UniqueFd> find(const std::string& path, mode_t type, const char* type_name) const;
  bool has_open_for_reading(const UniqueFd& fifo) const;
  bool listens(const std::string& path) const;

  pid_t pid_;
  UniqueFd root_;
  Rights rights_;
};

// Opens a process's descriptor `fd` for reading, if it is a regular file that the process may read.
Result<UniqueFd> open_descriptor(pid_t pid, int fd);

}  // namespace oddrank::attach
