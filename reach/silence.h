// Explains in one sentence why a node did not answer, from all that is known about it.
//
// The messages on stderr of agents that fail, and of the programs that start them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace oddrank::reach {

struct Silence {
  std::chrono::milliseconds timeout{0};  // or the elapsed part
  bool interrupted = false;              // by the user, before the timeout
  bool heard = false;                    // its agent started
  std::uint64_t received = 0;            // frames of its answer
  std::uint64_t total = 0;               // 0: no frame came
  std::string exit;                      // of its agent: "exited with status 2"
  std::string complaint;                 // of its agent, or of a program that answered in its place
  bool no_copy_runs = false;             // the node lacks the program, and could not run a copy
  // Sentences from the starter of the agents (srun, ssh, kubectl); each may be empty.
  std::string not_started;  // why it could not start one there
  std::string ended;        // it exited before the node answered
  std::string of_all;       // its complaint that names no node
  std::string known;        // other facts about the node: "SLURM says: down (bad memory)"
};

// Returns "node did not answer in 20 s; SLURM says: not responding", without the host's name. The
// event comes first, in the starter's words if it has printed any.
std::string why_silent(const Silence& silence);

// Complaints are cut at this many bytes.
inline constexpr std::size_t kMaxComplaint = 200;

// Returns a program's line without the blanks around it and without its level: "srun: error: x",
// "slurm_load_jobs error: x" -> "x".
std::string_view without_level(std::string_view line);

// Returns the first line that is not empty, without its level; "" if there is none.
std::string first_complaint(std::string_view said);

// Returns the last line that is not empty, unchanged; "" if there is none.
std::string_view last_line(std::string_view said);

}  // namespace oddrank::reach
