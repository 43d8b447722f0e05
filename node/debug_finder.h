// Finds separate debug files by build id, beyond this node's own: below the root folder of the
// process that has the module, and, if the user has set $DEBUGINFOD_URLS, from such a server.
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
  // Uses no server.
  DebugFinder() = default;
  // Uses the servers that $DEBUGINFOD_URLS names, if it is set, through the client program of
  // elfutils (`debuginfod-find`, which also caches fetched files). Stops at the deadline, and when
  // the program times out or is not installed.
  explicit DebugFinder(Deadline deadline);

  // Returns whether $DEBUGINFOD_URLS is set, so that a program may be run.
  static bool asks_servers();

  // Opens the debug file. kNotFound: there is none, or the text is not a build id. The caller
  // compares build ids.
  Result<UniqueFd> open(pid_t pid, const std::string& build_id);

 private:
  Result<UniqueFd> ask_server(const std::string& build_id);

  std::optional<Deadline> until_;  // none: no server is queried
  std::set<std::string> asked_;    // each build id is queried once
};

}  // namespace oddrank::node
