// Explains in one sentence why a node did not answer, from all that is known about it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace oddrank::slurm {

struct Silence {
  std::chrono::milliseconds timeout{0};  // or what passed of it
  bool interrupted = false;              // by the user, before the timeout
  bool heard = false;                    // its agent started
  // When srun ended by itself, from the start of the gathering; negative: it was running at the
  // end.
  std::chrono::milliseconds srun_ended{-1};
  std::uint64_t received = 0;  // frames of its answer
  std::uint64_t total = 0;     // 0: no frame came
  std::string launch_failure;  // srun's: "Communication connection failure"
  std::string exit;            // srun's: "Exited with exit code 2"
  bool no_copy_runs = false;   // the program is not there, and no copy could be run
  std::string agent_text;      // stderr of the agent, or of SLURM in its place
  std::string complaint;       // srun's, about the step as a whole
  std::string node_state;      // sinfo's: "down (bad memory)"
};

// Returns "node did not answer in 20 s; SLURM says: not responding", without the host's name. What
// happened comes first, in srun's own words if it has said any: "srun: Requested node configuration
// is not available (it ended after 0.1 s)".
std::string why_silent(const Silence& silence);

}  // namespace oddrank::slurm
