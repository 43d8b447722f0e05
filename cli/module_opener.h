// Opens module files of processes of this node, for the naming of frames.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "attach/live_target.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::cli {

class ModuleOpener {
 public:
  // The file that `pid` has mapped under that path, in its own mount namespace, also if deleted.
  // Reads the maps of each process once. May block; see base/isolated.h.
  Result<UniqueFd> open(pid_t pid, const std::string& path);

 private:
  std::map<pid_t, std::unique_ptr<attach::LiveTarget>> targets_;  // null: could not be opened
};

}  // namespace oddrank::cli
