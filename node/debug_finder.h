// Finds separate debug files by build id, beyond this node's own: below the root folder of the
// process that has the module, and where the user has set $DEBUGINFOD_URLS, from such a server.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::node {

class DebugFinder {
 public:
  // Asks no server.
  DebugFinder() = default;
  // Asks the servers that $DEBUGINFOD_URLS names, if it is set, through the client program of
  // elfutils (`debuginfod-find`, which also keeps what it has fetched). Not after the deadline, and
  // never again once it did not answer in time or is not installed.
  explicit DebugFinder(Deadline deadline);

  // kNotFound, too, for a text that is no build id. The caller checks the file's build id.
  Result<UniqueFd> open(pid_t pid, const std::string& build_id);

 private:
  Result<UniqueFd> ask_server(const std::string& build_id);

  std::optional<Deadline> until_;  // none: no server is asked
  std::set<std::string> asked_;    // each build id once
};

}  // namespace oddrank::node
