// Finds the processes that have an end of a node's pipes and sockets: an index of NodeEnds. Borrows
// nothing.
//
// A pipe is often open in processes that do not use it, since children inherit descriptors. A
// process that has only the other end is its user; a process with both ends mostly just inherited
// them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "waits/ends/node_ends.h"

namespace oddrank::waits {

struct PipeEnds {
  bool readable = false;
  bool writable = false;
};

// The other end of a pipe, as seen from a process that waits at one.
struct OtherPipeEnd {
  bool own = false;           // the process itself has it as well
  std::vector<pid_t> owners;  // other processes that have it, by pid
  std::vector<pid_t> users;   // the owners that have only this end
};

class EndOwners {
 public:
  explicit EndOwners(const NodeEnds& node);

  // Returns the ends of the pipe that each process has, by pid; empty if no process was found.
  const std::map<pid_t, PipeEnds>& of_pipe(std::uint64_t inode) const;
  // Returns the ends of the pipe that the process has; nullptr if it has none, or was not read.
  const PipeEnds* pipe_ends(std::uint64_t inode, pid_t pid) const;
  // Returns whether this process, and no other, has the pipe.
  bool is_own_pipe(std::uint64_t inode, pid_t pid) const;
  // Returns the processes that have the other end. `writes`: the process waits at the writing end,
  // so the other one reads.
  OtherPipeEnd other_end(std::uint64_t inode, pid_t pid, bool writes) const;

  // Returns the processes that have the socket open, by pid; empty if none was found. (Nodes may
  // share a network, as containers and test clusters do: the kernel may list sockets of processes
  // that are not seen here.)
  std::vector<pid_t> of_socket(std::uint64_t inode) const;

 private:
  std::map<std::uint64_t, std::map<pid_t, PipeEnds>> pipes_;
  std::map<std::uint64_t, std::set<pid_t>> sockets_;
};

}  // namespace oddrank::waits
