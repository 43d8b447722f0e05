#include "waits/ends/read_ends.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "attach/proc_fds.h"
#include "attach/proc_pids.h"
#include "attach/proc_stat.h"
#include "base/deadline.h"
#include "base/read_file.h"
#include "waits/awaited_files.h"
#include "waits/ends/end_owners.h"
#include "waits/ends/join_ends.h"
#include "waits/ends/read_sockets.h"
#include "waits/file_locks.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using Paths = std::set<std::string, std::less<>>;

// What to search for among the descriptors of a process.
struct Wanted {
  Inodes pipes;
  Paths files;
  Inodes sockets;
  bool all_sockets = false;
};

constexpr std::size_t kMaxProcessFds = 65536;               // of one process: 0.1 s
constexpr std::size_t kMaxEndInfo = 16384;                  // bytes
constexpr std::uint64_t kNamedPipes = 1ULL << 63U;          // no inode of a pipe is as large
constexpr std::chrono::milliseconds kOutsidePatience{300};  // for all other processes together

Inodes wanted_pipes(const Capture& capture) {
  Inodes wanted;
  for (const ProcessCapture& process : capture.processes) {
    wanted.merge(awaited_inodes(process, attach::FdKind::kPipe, capture.tables));
  }
  return wanted;
}

void add_pipe(int fd, std::uint64_t inode, pid_t pid, std::size_t process, NodeEnds& node) {
  const auto access = attach::read_fd_access(pid, fd);
  if (access) {
    node.ends.push_back({inode, false, access->reads, access->writes, process, pid});
  }
}

void add_file(const attach::OpenFd& fd, pid_t pid, NodeEnds& node) {
  const std::string path = attach::process_folder(pid) + "/fdinfo/" + std::to_string(fd.fd);
  const std::string text = read_file(path, kMaxEndInfo).value_or(std::string());
  if (const auto info = attach::parse_fdinfo(text)) {
    node.files.push_back({fd.link, pid, has_lock(text, pid), (info->flags & O_ACCMODE) == O_RDWR});
  }
}

void add_process(pid_t pid, std::size_t process, const Wanted& wanted, NodeEnds& node) {
  const bool by_path = !wanted.files.empty() || !node.named_pipes.empty();
  auto fds = attach::read_fds(pid, kMaxProcessFds + 1,
                              by_path ? attach::FdPaths::kBelowRoot : attach::FdPaths::kAsShown);
  if (!fds) {
    return;
  }
  if (fds->size() > kMaxProcessFds) {
    fds->pop_back();
    node.cut.push_back(pid);
  }
  const std::size_t before = node.ends.size();
  for (const attach::OpenFd& fd : *fds) {
    if (fd.kind == attach::FdKind::kPipe && wanted.pipes.contains(fd.inode)) {
      add_pipe(fd.fd, fd.inode, pid, process, node);
    } else if (fd.kind == attach::FdKind::kFile && wanted.files.contains(fd.link)) {
      add_file(fd, pid, node);
    } else if (const auto named = node.named_pipes.find(fd.link);
               fd.kind == attach::FdKind::kFile && named != node.named_pipes.end()) {
      add_pipe(fd.fd, named->second, pid, process, node);
    } else if (fd.kind == attach::FdKind::kSocket &&
               (wanted.all_sockets || wanted.sockets.contains(fd.inode))) {
      node.ends.push_back({fd.inode, true, true, true, process, pid});
    }
  }
  if (process == kOutside && node.ends.size() > before) {
    if (const auto stat = attach::read_proc_stat(pid)) {
      node.parents[pid] = stat->parent;
    }
  }
}

// Returns the lock files that threads poll. (If a call waits for a lock whose holder the kernel
// does not know, the holder is on another node, and every process here that has the file open also
// waits.)
Paths wanted_files(const Capture& capture) {
  Paths wanted;
  for (const ProcessCapture& process : capture.processes) {
    for (const ThreadCapture& thread : process.threads) {
      if (is_polled_lock(thread.wait)) {
        wanted.emplace(capture.tables.text(thread.wait.path));
      }
    }
  }
  wanted.erase("");
  return wanted;
}

// Numbers the named pipes that threads read or write.
std::map<std::string, std::uint64_t, std::less<>> named_pipes(const Capture& capture) {
  std::map<std::string, std::uint64_t, std::less<>> named;
  for (const ProcessCapture& process : capture.processes) {
    for (const ThreadCapture& thread : process.threads) {
      if (is_named_pipe(thread.wait, capture.tables)) {
        named.try_emplace(std::string(capture.tables.text(thread.wait.path)),
                          kNamedPipes + named.size());
      }
    }
  }
  return named;
}

// Pipes whose other end was not found in the capture.
struct LonelyPipes {
  Inodes unknown;  // no process of the capture has it: any other process may
  Inodes own;      // only the waiting process has it; at most its parent has it too
};

// Returns whether one process could read what another one writes. (All ranks may share the writing
// end of their output.)
bool has_two_ends(const std::map<pid_t, PipeEnds>& pipe) {
  return std::any_of(pipe.begin(), pipe.end(), [&pipe](const auto& reader) {
    return reader.second.readable &&
           std::any_of(pipe.begin(), pipe.end(), [&reader](const auto& writer) {
             return writer.second.writable && writer.first != reader.first;
           });
  });
}

LonelyPipes without_other_end(const Inodes& pipes, const NodeEnds& node) {
  const EndOwners owners(node);
  LonelyPipes lonely;
  for (const std::uint64_t inode : pipes) {
    const auto& of_pipe = owners.of_pipe(inode);
    if (!has_two_ends(of_pipe)) {
      const PipeEnds ends = of_pipe.empty() ? PipeEnds() : of_pipe.begin()->second;
      (ends.readable && ends.writable ? lonely.own : lonely.unknown).insert(inode);
    }
  }
  return lonely;
}

// Adds launchers and shells: a rank writes its output to their pipes.
void add_parents(const Wanted& wanted,
                 const Capture& capture,
                 std::set<pid_t>& known,
                 NodeEnds& node) {
  for (const ProcessCapture& process : capture.processes) {
    if (process.parent > 1 && known.insert(process.parent).second) {
      add_process(process.parent, kOutside, wanted, node);
    }
  }
}

void add_everybody_else(const Wanted& wanted, const std::set<pid_t>& known, NodeEnds& node) {
  const Deadline end = Deadline::after(kOutsidePatience);
  for (const pid_t pid : attach::list_pids().value_or(std::vector<pid_t>())) {
    if (known.contains(pid)) {
      continue;
    }
    if (end.passed()) {
      ++node.unsearched;
    } else {
      add_process(pid, kOutside, wanted, node);
    }
  }
}

bool is_empty(const Wanted& wanted) {
  return wanted.pipes.empty() && wanted.files.empty() && wanted.sockets.empty();
}

Inodes without_owner(Inodes sockets, const NodeEnds& node) {
  for (const OpenEnd& end : node.ends) {
    if (end.socket) {
      sockets.erase(end.inode);
    }
  }
  return sockets;
}

// Returns the other ends, on this node, of all connections that processes of the capture have. If
// no process has the other end of a connection, it leads to a process that is not visible here.
Inodes connected_sockets(const NodeEnds& node) {
  Inodes others;
  for (const OpenEnd& end : node.ends) {
    const SocketRow* row = node.row_of(end);
    const SocketRow* other = row == nullptr ? nullptr : node.table_of(end.process)->other_end(*row);
    if (other != nullptr && row->state == static_cast<std::uint8_t>(SocketState::kEstablished)) {
      others.insert(other->inode);
    }
  }
  return others;
}

// `connected`: of these, one owner each is enough.
void add_outsiders(Wanted wanted,
                   const Inodes& own_pipes,
                   const Inodes& connected,
                   const Capture& capture,
                   NodeEnds& node) {
  std::set<pid_t> known = {::getpid()};
  for (const ProcessCapture& process : capture.processes) {
    known.insert(process.pid);
  }
  Wanted of_parents = wanted;
  of_parents.pipes.insert(own_pipes.begin(), own_pipes.end());
  of_parents.sockets.insert(connected.begin(), connected.end());
  if (!is_empty(of_parents)) {
    add_parents(of_parents, capture, known, node);
  }
  wanted.sockets.merge(without_owner(connected, node));
  if (!is_empty(wanted)) {
    add_everybody_else(wanted, known, node);
  }
}

}  // namespace

NodeEnds read_ends(const Capture& capture) {
  NodeEnds node;
  node.namespace_of.assign(capture.processes.size(), kOutside);
  node.named_pipes = named_pipes(capture);
  // All processes are searched: a rank of another node may wait for a process that waits on no
  // socket itself.
  Wanted wanted{wanted_pipes(capture), wanted_files(capture), {}, true};
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    add_process(capture.processes[i].pid, i, wanted, node);
  }
  for (const auto& [path, number] : node.named_pipes) {
    wanted.pipes.insert(number);
  }
  LonelyPipes pipes = without_other_end(wanted.pipes, node);
  Wanted lonely{std::move(pipes.unknown), wanted.files,
                without_owner(read_sockets(capture, node), node), false};
  for (const OpenFile& file : node.files) {
    lonely.files.erase(file.path);
  }
  add_outsiders(std::move(lonely), pipes.own, without_owner(connected_sockets(node), node), capture,
                node);
  return node;
}

}  // namespace oddrank::waits
