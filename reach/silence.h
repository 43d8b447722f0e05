// Explains in one sentence why a node did not answer, from all that is known about it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace oddrank::reach {

struct Silence {
  std::chrono::milliseconds timeout{0};  // or what passed of it
  bool interrupted = false;              // by the user, before the timeout
  bool heard = false;                    // its agent started
  std::uint64_t received = 0;            // frames of its answer
  std::uint64_t total = 0;               // 0: no frame came
  std::string exit;                      // of its agent: "exited with status 2"
  std::string complaint;                 // of its agent, or of whatever spoke in its place
  bool no_copy_runs = false;             // the program is not there, and no copy could be run
  // Sentences of what starts the agents; empty: it says no such thing.
  std::string not_started;  // why it could start none there
  std::string ended;        // that it ended by itself, and left the node unanswered
  std::string of_all;       // what it complained of; not about this node alone
  std::string known;        // what else it knows of the node: "SLURM says: down (bad memory)"
};

// Returns "node did not answer in 20 s; SLURM says: not responding", without the host's name. What
// happened comes first, in the words of what starts the agents if it has said any.
std::string why_silent(const Silence& silence);

}  // namespace oddrank::reach
