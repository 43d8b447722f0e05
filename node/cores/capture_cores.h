// Makes a capture from the core files of one job: each is read in a child with a deadline, then all
// are combined like live ranks.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/read_options.h"
#include "snapshot/capture.h"

namespace oddrank::node {

struct CoresRequest {
  std::vector<std::string> paths;
  std::string sysroot;                                                // "" = none
  std::function<void(std::size_t done, std::size_t total)> progress;  // may be empty
};

// Returns a node for each host that an environment names; a core without a host is a node of its
// own, with the name of its file. A core that cannot be read is a node that did not answer, with
// the reason. Fails if none can be read (with the first Error), or with kUsage if they belong to
// several jobs. Precondition: one thread (it forks).
Result<snapshot::Capture> capture_cores(const CoresRequest& request, const CaptureOptions& options);

}  // namespace oddrank::node
