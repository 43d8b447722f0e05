// The files of a process whose reader did not answer. Files on file systems that depend on a
// server, or on another process, are not opened again; what is in memory is read.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>

#include "attach/memory_map.h"

namespace oddrank::node {

// Processes whose files did not answer, by pid.
using SilentProcesses = std::set<pid_t>;

class SilentFiles {
 public:
  // Reads the mounts of the process, as text.
  explicit SilentFiles(pid_t pid);

  // Returns whether the file of the mapping is on a disk or in the memory of this node.
  bool may_open(const attach::Mapping& mapping) const;
  // Returns "nfs4 server:/export at /data": the mounts of mapped files that may not be opened; ""
  // if there are none.
  std::string mounts(const attach::MemoryMap& maps) const;

 private:
  std::string mountinfo_;
};

// Returns SilentFiles::may_open of the process, for an InMemoryTarget.
std::function<bool(const attach::Mapping&)> openable_files(pid_t pid);

}  // namespace oddrank::node
