// Who has which end of a node's pipes and sockets: an index of NodeEnds, which it borrows nothing
// of.
//
// A pipe is often open in more processes than use it, since children inherit descriptors. Whoever
// has nothing but the other end is its user; a process with both ends has mostly just inherited
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
  bool own = false;           // the process has it as well
  std::vector<pid_t> owners;  // other processes that have it, by pid
  std::vector<pid_t> users;   // those of them that have nothing else of the pipe
};

class EndOwners {
 public:
  explicit EndOwners(const NodeEnds& node);

  // Who has which ends of the pipe, by pid; empty if nobody was found.
  const std::map<pid_t, PipeEnds>& of_pipe(std::uint64_t inode) const;
  // What the process has of the pipe; nullptr: nothing, or nobody looked at it.
  const PipeEnds* pipe_ends(std::uint64_t inode, pid_t pid) const;
  // Both ends are this process's and nobody else's.
  bool is_own_pipe(std::uint64_t inode, pid_t pid) const;
  // `writes`: the process waits at the end that writes, and so the other one reads.
  OtherPipeEnd other_end(std::uint64_t inode, pid_t pid, bool writes) const;

  // Who has the socket open, by pid; empty if nobody was found.
  std::vector<pid_t> of_socket(std::uint64_t inode) const;
  // A process of the capture has the socket open. (Nodes may share a network, as containers and
  // test clusters do: a socket that the kernel lists need not be of a process that was read here.)
  bool is_captured_socket(std::uint64_t inode) const { return captured_.contains(inode); }

 private:
  std::map<std::uint64_t, std::map<pid_t, PipeEnds>> pipes_;
  std::map<std::uint64_t, std::set<pid_t>> sockets_;
  std::set<std::uint64_t> captured_;
};

}  // namespace oddrank::waits
