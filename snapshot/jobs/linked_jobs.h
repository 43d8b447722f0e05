// Which jobs of a capture work together: their ranks are connected like members of a group (gloo's
// pairs, NCCL's bootstrap, the store), or have met in a group that was made by hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// Keys of jobs (ProcessCapture::job_key), each in one set.
using JobSets = std::vector<std::vector<std::string>>;

// One end of a connection of a rank.
struct JobEnd {
  std::string job;
  std::string local;  // as Connection::local; for a container's loopback, with the namespace
  std::string peer;
};

// Returns the sets of jobs that the connections link.
JobSets linked_jobs(const std::vector<std::string>& jobs, const std::vector<JobEnd>& ends);

// Returns the same for a complete capture: by the connections between its nodes, and by groups.
JobSets linked_jobs(const Capture& capture);

// Returns the set that the job is in, or the job alone.
std::vector<std::string> set_with(const JobSets& sets, const std::string& job);

// Returns the meeting place without the host, since members may have different names for it.
std::string_view met_without_host(std::string_view met_at);

}  // namespace oddrank::snapshot
