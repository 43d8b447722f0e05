#include "waits/ends/end_owners.h"

namespace oddrank::waits {

EndOwners::EndOwners(const NodeEnds& node) {
  for (const OpenEnd& end : node.ends) {
    if (end.socket) {
      sockets_[end.inode].insert(end.pid);
    } else {
      PipeEnds& both = pipes_[end.inode][end.pid];
      both.readable = both.readable || end.readable;
      both.writable = both.writable || end.writable;
    }
  }
}

const std::map<pid_t, PipeEnds>& EndOwners::of_pipe(std::uint64_t inode) const {
  static const std::map<pid_t, PipeEnds> nobody;
  const auto pipe = pipes_.find(inode);
  return pipe == pipes_.end() ? nobody : pipe->second;
}

const PipeEnds* EndOwners::pipe_ends(std::uint64_t inode, pid_t pid) const {
  const auto& owners = of_pipe(inode);
  const auto ends = owners.find(pid);
  return ends == owners.end() ? nullptr : &ends->second;
}

bool EndOwners::is_own_pipe(std::uint64_t inode, pid_t pid) const {
  const auto& owners = of_pipe(inode);
  return owners.size() == 1 && owners.contains(pid);
}

OtherPipeEnd EndOwners::other_end(std::uint64_t inode, pid_t pid, bool writes) const {
  OtherPipeEnd other;
  for (const auto& [owner, ends] : of_pipe(inode)) {
    const bool has_other = writes ? ends.readable : ends.writable;
    const bool has_same = writes ? ends.writable : ends.readable;
    if (owner == pid) {
      other.own = has_other;
    } else if (has_other) {
      other.owners.push_back(owner);
      if (!has_same) {
        other.users.push_back(owner);
      }
    }
  }
  return other;
}

std::vector<pid_t> EndOwners::of_socket(std::uint64_t inode) const {
  const auto owners = sockets_.find(inode);
  return owners == sockets_.end()
             ? std::vector<pid_t>()
             : std::vector<pid_t>(owners->second.begin(), owners->second.end());
}

}  // namespace oddrank::waits
