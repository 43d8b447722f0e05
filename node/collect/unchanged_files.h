// Reads small files of a process that are on this node and have not changed since the process
// began, so that they are what it runs. File systems that depend on a server or another process are
// not touched: a dead server would not answer, and files that all nodes share cannot differ.
#pragma once

#include <cstdint>
#include <string>

#include "attach/files/open_named.h"
#include "base/result.h"

namespace oddrank::node {

class UnchangedFiles {
 public:
  // `began_us`: CLOCK_REALTIME when the process began. Errors: as NamedFiles::of.
  static Result<UnchangedFiles> of(pid_t pid, std::uint64_t began_us);

  // Returns the whole text of a regular file, with the process's rights and below its root. `path`:
  // absolute, as the process sees it. kNotFound: there is none; kUnsupported: it is not local, not
  // regular, longer than `limit` bytes, or was changed later.
  // May block if a link leads elsewhere: call it in a child (base/isolated.h).
  Result<std::string> read(const std::string& path, std::size_t limit) const;

 private:
  UnchangedFiles(attach::NamedFiles files, std::string mountinfo, std::uint64_t began_us);

  attach::NamedFiles files_;
  std::string mountinfo_;
  std::uint64_t began_us_;
};

}  // namespace oddrank::node
