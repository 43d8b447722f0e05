// Requests for resources that a scheduler within the job (Ray's) has not got free, and whose wait
// each may explain: the task or actor that a thread waits for cannot begin before.
#pragma once

#include <string_view>
#include <vector>

#include "aggregate/view/rank_view.h"
#include "snapshot/collective_state.h"

namespace oddrank::aggregate {

// Returns the requests that may be for what the thread waits for in `call` (remote_calls.h): for a
// placement group, a task, or an actor that has no process. Those that have only just been made are
// left out, unless the cluster does not have as much.
std::vector<const snapshot::ResourceRequest*> find_wanted(
    const std::vector<RankView>& ranks,
    const std::vector<snapshot::ResourceRequest>& requests,
    const snapshot::ThreadCapture& thread,
    std::string_view call);

// Returns whether the process has some of what the request lacks, and will give it back. kNo also
// if that would not help: the cluster does not have as much.
snapshot::Known holds(const snapshot::ResourceRequest& request,
                      const snapshot::ProcessCapture& process);

}  // namespace oddrank::aggregate
