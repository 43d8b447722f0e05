// Opens module files of processes of this node, for the naming of frames.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "attach/live_target.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "node/files/silent_files.h"

namespace oddrank::node {

// Reads the maps of each process once. May block; see base/isolated.h.
class ModuleOpener {
 public:
  // Files of `silent` processes are opened only if they depend on no server or other process.
  explicit ModuleOpener(SilentProcesses silent = {}) : silent_(std::move(silent)) {}

  // Opens the file that `pid` has mapped under that path, in its own mount namespace, even if it
  // was deleted. For "[vdso]" the file holds its image.
  Result<UniqueFd> open(pid_t pid, const std::string& path);
  // Opens a file with the dynamic symbols of that module as they are in the memory of `pid`.
  Result<UniqueFd> open_memory(pid_t pid, const std::string& path);

 private:
  Result<const attach::LiveTarget*> target_of(pid_t pid, const std::string& path);

  SilentProcesses silent_;
  std::map<pid_t, std::unique_ptr<attach::LiveTarget>> targets_;  // null: could not be opened
};

}  // namespace oddrank::node
