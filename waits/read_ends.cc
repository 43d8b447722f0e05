#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "attach/proc_fds.h"
#include "attach/proc_pids.h"
#include "base/deadline.h"
#include "base/read_file.h"
#include "waits/awaited_files.h"
#include "waits/file_locks.h"
#include "waits/find_peers.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using Inodes = std::set<std::uint64_t>;
using Paths = std::set<std::string, std::less<>>;

// What is looked for among the descriptors of a process.
struct Wanted {
  Inodes pipes;
  Paths files;
  Inodes sockets;
  bool all_sockets = false;
};

constexpr std::size_t kFdLimit = 16384;                     // of one process
constexpr std::size_t kInfoLimit = 16384;                   // bytes
constexpr std::size_t kNetLimit = std::size_t{8} << 20;     // bytes of one table of sockets
constexpr std::chrono::milliseconds kOutsidePatience{300};  // for all other processes together
constexpr std::size_t kNamespaceLimit = 16;

// Pipes or sockets that threads of the process wait for.
Inodes awaited(const ProcessCapture& process, attach::FdKind kind, const Capture& capture) {
  Inodes inodes;
  for (const ThreadCapture& thread : process.threads) {
    for (const attach::OpenFd& file : awaited_files(thread.wait, capture.tables).ends) {
      if (file.kind == kind) {
        inodes.insert(file.inode);
      }
    }
  }
  return inodes;
}

Inodes wanted_pipes(const Capture& capture) {
  Inodes wanted;
  for (const ProcessCapture& process : capture.processes) {
    wanted.merge(awaited(process, attach::FdKind::kPipe, capture));
  }
  return wanted;
}

void add_pipe(const attach::OpenFd& fd, pid_t pid, std::size_t process, NodeEnds& node) {
  const auto access = attach::read_fd_access(pid, fd.fd);
  if (access) {
    node.ends.push_back({fd.inode, false, access->reads, access->writes, process, pid});
  }
}

void add_file(const attach::OpenFd& fd, pid_t pid, NodeEnds& node) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd.fd);
  const std::string text = read_file(path, kInfoLimit).value_or(std::string());
  if (const auto info = attach::parse_fdinfo(text)) {
    node.files.push_back({fd.link, pid, has_lock(text, pid), (info->flags & O_ACCMODE) == O_RDWR});
  }
}

void add_process(pid_t pid, std::size_t process, const Wanted& wanted, NodeEnds& node) {
  const auto fds = attach::read_fds(pid, kFdLimit);
  if (!fds) {
    return;
  }
  for (const attach::OpenFd& fd : *fds) {
    if (fd.kind == attach::FdKind::kPipe && wanted.pipes.contains(fd.inode)) {
      add_pipe(fd, pid, process, node);
    } else if (fd.kind == attach::FdKind::kFile && wanted.files.contains(fd.link)) {
      add_file(fd, pid, node);
    } else if (fd.kind == attach::FdKind::kSocket &&
               (wanted.all_sockets || wanted.sockets.contains(fd.inode))) {
      node.ends.push_back({fd.inode, true, true, true, process, pid});
    }
  }
}

// Lock files that are polled. (One that a call waits for, and whose holder the kernel does not
// know, is held on another node: then everybody here who has it open waits as well.)
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

// Pipes of which no process of the capture has an end that the waiting one has not.
Inodes without_other_end(const Inodes& pipes, const NodeEnds& node) {
  Inodes lonely;
  for (const std::uint64_t inode : pipes) {
    std::set<pid_t> owners;
    for (const OpenEnd& end : node.ends) {
      if (!end.socket && end.inode == inode) {
        owners.insert(end.pid);
      }
    }
    if (owners.size() < 2) {
      lonely.insert(inode);
    }
  }
  return lonely;
}

void add_outsiders(const Wanted& wanted, const Capture& capture, NodeEnds& node) {
  const Deadline end = Deadline::after(kOutsidePatience);
  std::set<pid_t> known = {::getpid()};
  for (const ProcessCapture& process : capture.processes) {
    known.insert(process.pid);
  }
  // Launchers and shells first, whose pipes a rank writes its output to.
  for (const ProcessCapture& process : capture.processes) {
    if (process.parent > 1 && known.insert(process.parent).second) {
      add_process(process.parent, kOutside, wanted, node);
    }
  }
  for (const pid_t pid : attach::list_pids().value_or(std::vector<pid_t>())) {
    if (end.passed()) {
      break;
    }
    if (!known.contains(pid)) {
      add_process(pid, kOutside, wanted, node);
    }
  }
}

// "net:[4026531840]": which network namespace a process is in.
std::string network_of(pid_t pid) {
  std::array<char, 64> link{};
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/net";
  const auto size = ::readlink(path.c_str(), link.data(), link.size() - 1);
  return size > 0 ? std::string(link.data(), static_cast<std::size_t>(size)) : std::string();
}

// Of the network namespace that `pid` is in; `diag` is null where that is not ours.
SocketTable read_table(pid_t pid, const SocketDiag* diag) {
  SocketTable table;
  if (diag != nullptr && diag->add_tcp_sockets(table)) {
    return table;
  }
  table = {};
  for (const char* name : {"tcp", "tcp6"}) {
    const std::string path = "/proc/" + std::to_string(pid) + "/net/" + name;
    table.add(read_file(path, kNetLimit).value_or(std::string()));
  }
  return table;
}

// Tables of the namespaces in which a process of the capture has a socket.
class NetworkReader {
 public:
  explicit NetworkReader(NodeEnds& node)
      : node_(node), ours_(network_of(::getpid())), diag_(SocketDiag::open()) {}

  void read(const Capture& capture) {
    std::set<std::size_t> with_sockets;
    for (const OpenEnd& end : node_.ends) {
      if (end.socket) {
        with_sockets.insert(end.process);
      }
    }
    std::unordered_map<std::string, std::size_t> known;
    for (const std::size_t i : with_sockets) {
      const pid_t pid = capture.processes[i].pid;
      const std::string network = network_of(pid);
      if (network.empty()) {
        continue;
      }
      const auto [at, is_new] = known.try_emplace(network, node_.sockets.size());
      if (is_new && node_.sockets.size() < kNamespaceLimit) {
        node_.sockets.push_back(read_table(pid, network == ours_ ? kernel() : nullptr));
        our_table_ = network == ours_ ? at->second : our_table_;
      }
      node_.namespace_of[i] = at->second < node_.sockets.size() ? at->second : kOutside;
    }
  }

  // To be asked about the sockets of this process; null where the kernel answers for others only.
  const SocketDiag* kernel_for(std::size_t process) const {
    return node_.namespace_of[process] == our_table_ ? kernel() : nullptr;
  }

 private:
  const SocketDiag* kernel() const { return diag_ ? &*diag_ : nullptr; }

  NodeEnds& node_;
  std::string ours_;
  std::size_t our_table_ = kOutside - 1;
  std::optional<SocketDiag> diag_;
};

// About one socket that somebody waits for; `diag` is null where the kernel cannot be asked.
void ask_for_socket(std::uint64_t inode,
                    const SocketTable& table,
                    const SocketDiag* diag,
                    NodeEnds& node,
                    Inodes& others) {
  if (const SocketRow* row = table.by_inode(inode)) {
    const SocketRow* other = table.other_end(*row);
    others.insert(other == nullptr ? 0 : other->inode);
    if (const auto silence = diag == nullptr ? std::nullopt : diag->silence(*row)) {
      node.silences.emplace(inode, *silence);
    }
  } else if (const auto peer = diag == nullptr ? std::nullopt : diag->local_peer(inode)) {
    others.insert(*peer);
    node.local_peers.emplace(inode, *peer);
  }
}

// Asks about the sockets that somebody waits for. Returns the inodes of their other ends on this
// node.
Inodes ask_for_sockets(const Capture& capture, const NetworkReader& networks, NodeEnds& node) {
  Inodes others;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    if (node.namespace_of[i] == kOutside) {
      continue;
    }
    const SocketTable& table = node.sockets[node.namespace_of[i]];
    for (const std::uint64_t inode :
         awaited(capture.processes[i], attach::FdKind::kSocket, capture)) {
      ask_for_socket(inode, table, networks.kernel_for(i), node, others);
    }
  }
  others.erase(0);
  return others;
}

Inodes without_owner(Inodes sockets, const NodeEnds& node) {
  for (const OpenEnd& end : node.ends) {
    if (end.socket) {
      sockets.erase(end.inode);
    }
  }
  return sockets;
}

}  // namespace

NodeEnds read_ends(const Capture& capture) {
  NodeEnds node;
  node.namespace_of.assign(capture.processes.size(), kOutside);
  // Connections of all: a rank of another node may wait for one that waits on no socket itself.
  const Wanted wanted{wanted_pipes(capture), wanted_files(capture), {}, true};
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    add_process(capture.processes[i].pid, i, wanted, node);
  }
  NetworkReader networks(node);
  networks.read(capture);
  Wanted lonely{without_other_end(wanted.pipes, node), wanted.files,
                without_owner(ask_for_sockets(capture, networks, node), node), false};
  for (const OpenFile& file : node.files) {
    lonely.files.erase(file.path);
  }
  if (!lonely.pipes.empty() || !lonely.files.empty() || !lonely.sockets.empty()) {
    add_outsiders(lonely, capture, node);
  }
  return node;
}

void find_peers(Capture& capture) {
  join_ends(read_ends(capture), capture);
}

}  // namespace oddrank::waits
