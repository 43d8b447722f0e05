#include "waits/ends/read_sockets.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "attach/proc_stat.h"
#include "base/read_file.h"
#include "waits/awaited_files.h"
#include "waits/ends/transfers.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;

constexpr std::size_t kMaxNetTable = std::size_t{8} << 20;  // bytes of one table of sockets
constexpr std::size_t kMaxNamespaces = 256;

// Returns the network namespace of a process: "net:[4026531840]".
std::string network_of(pid_t pid) {
  std::array<char, 64> link{};
  const std::string path = attach::process_folder(pid) + "/ns/net";
  const auto size = ::readlink(path.c_str(), link.data(), link.size() - 1);
  return size > 0 ? std::string(link.data(), static_cast<std::size_t>(size)) : std::string();
}

// Reads the table of the network namespace that `pid` is in, to which `diag` belongs, if it could
// be opened there.
SocketTable read_table(pid_t pid, const std::optional<SocketDiag>& diag) {
  SocketTable table;
  if (diag && diag->add_tcp_sockets(table)) {
    return table;
  }
  table = {};
  for (const char* name : {"tcp", "tcp6"}) {
    const std::string path = attach::process_folder(pid) + "/net/" + name;
    table.add(read_file(path, kMaxNetTable).value_or(std::string()));
  }
  return table;
}

// Reads tables only of namespaces in which a process of the capture has a socket that is not local:
// the kernel walks its whole hash table of connections, which takes a millisecond.
class NetworkReader {
 public:
  explicit NetworkReader(NodeEnds& node);

  void read(const Capture& capture);

  // Returns the local socket, if it has another end or listens; else null.
  const LocalSocket* local(std::uint64_t inode) const;

  // Reads more about a connection of this process, if its network namespace could be entered.
  void ask(std::size_t process, const SocketRow& row) const;

 private:
  NodeEnds& node_;
  std::vector<std::optional<SocketDiag>> kernels_;  // by table
  LocalSockets local_;                              // of our own namespace
};

NetworkReader::NetworkReader(NodeEnds& node) : node_(node) {
  const bool has_sockets = std::any_of(node.ends.begin(), node.ends.end(),
                                       [](const OpenEnd& end) { return end.socket; });
  const auto kernel = has_sockets ? SocketDiag::open() : std::nullopt;
  if (kernel) {
    local_ = kernel->local_sockets().value_or(LocalSockets());
  }
}

void NetworkReader::read(const Capture& capture) {
  std::set<std::size_t> with_sockets;
  for (const OpenEnd& end : node_.ends) {
    if (end.socket && !local_.contains(end.inode)) {
      with_sockets.insert(end.process);
    }
  }
  const std::string ours = network_of(::getpid());
  std::unordered_map<std::string, std::size_t> known;
  for (const std::size_t i : with_sockets) {
    const pid_t pid = capture.processes[i].pid;
    const std::string network = network_of(pid);
    if (network.empty()) {
      continue;
    }
    const auto [at, is_new] = known.try_emplace(network, node_.sockets.size());
    if (is_new && node_.sockets.size() == kMaxNamespaces) {
      at->second = kOutside;
      ++node_.unread_networks;
    } else if (is_new) {
      kernels_.push_back(network == ours ? SocketDiag::open() : SocketDiag::open_beside(pid));
      node_.sockets.push_back(read_table(pid, kernels_.back()));
    }
    node_.namespace_of[i] = at->second < node_.sockets.size() ? at->second : kOutside;
  }
}

void NetworkReader::ask(std::size_t process, const SocketRow& row) const {
  const std::size_t at = node_.namespace_of[process];
  if (at >= kernels_.size() || !kernels_[at]) {
    return;
  }
  if (const auto info = kernels_[at]->info(row)) {
    node_.tcp.emplace(row.inode, *info);
  }
}

const LocalSocket* NetworkReader::local(std::uint64_t inode) const {
  const auto found = local_.find(inode);
  return found == local_.end() || (found->second.peer == 0 && !found->second.listens)
             ? nullptr
             : &found->second;
}

// Reads how long a socket that a thread of the process waits for has been silent, if it is a
// connection.
void ask_for_connection(std::uint64_t inode,
                        std::size_t process,
                        const NetworkReader& networks,
                        NodeEnds& node,
                        Inodes& others) {
  if (node.namespace_of[process] == kOutside) {
    return;
  }
  const SocketTable& table = node.sockets[node.namespace_of[process]];
  const SocketRow* row = table.by_inode(inode);
  if (row == nullptr) {
    return;
  }
  if (const SocketRow* other = table.other_end(*row)) {
    const SocketRow* listener = table.listener_of(*other);
    others.insert(listener == nullptr ? other->inode : listener->inode);
  }
  networks.ask(process, *row);
}

// Reads the routes, and more about the connections on which data does not get through.
void ask_about_trouble(const NetworkReader& networks, NodeEnds& node) {
  for (const OpenEnd& end : node.ends) {
    const SocketRow* row = node.row_of(end);
    if (row == nullptr || !is_in_trouble(*row)) {
      continue;
    }
    networks.ask(end.process, *row);
    if (const auto [routes, is_new] = node.routes.try_emplace(node.namespace_of[end.process]);
        is_new) {
      const std::string net = "/proc/" + std::to_string(end.pid) + "/net/";
      routes->second.add_v4(read_file(net + "route", kMaxNetTable).value_or(std::string()));
      routes->second.add_v6(read_file(net + "ipv6_route", kMaxNetTable).value_or(std::string()));
    }
  }
}

}  // namespace

std::set<std::uint64_t> read_sockets(const Capture& capture, NodeEnds& node) {
  NetworkReader networks(node);
  networks.read(capture);
  Inodes others;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    for (const std::uint64_t inode :
         awaited_inodes(capture.processes[i], attach::FdKind::kSocket, capture.tables)) {
      if (const LocalSocket* local = networks.local(inode)) {
        node.local_sockets.emplace(inode, *local);
        others.insert(local->peer);
      } else {
        ask_for_connection(inode, i, networks, node, others);
      }
    }
  }
  ask_about_trouble(networks, node);
  others.erase(0);
  return others;
}

}  // namespace oddrank::waits
