// The pipes, sockets and lock files of a node that its threads wait on, and the processes that have
// them open.
//
// The kernel lists the descriptors of a process, and what each one is; two ends of a pipe have one
// inode, two ends of a TCP connection have swapped addresses. Owners of ends on this node become
// holders of the waits. For ends elsewhere the capture keeps the addresses, and every process's
// connections to unseen processes, so that the aggregation can match them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "waits/ends/routes.h"
#include "waits/ends/socket_diag.h"
#include "waits/ends/socket_table.h"

namespace oddrank::waits {

// One end of a pipe, or a socket, and the process that has it open.
struct OpenEnd {
  std::uint64_t inode = 0;
  bool socket = false;
  bool readable = false;  // of a pipe: this end reads
  bool writable = false;
  std::size_t process = 0;  // index into Capture::processes; kOutside: none of them
  pid_t pid = 0;
};
struct OpenFile {
  std::string path;
  pid_t pid = 0;
  bool locked = false;  // by this process, through this descriptor
  bool both = false;    // open for reading and writing
};
inline constexpr std::size_t kOutside = static_cast<std::size_t>(-1);

// The relevant descriptors of a node. `sockets` has one table for each network namespace;
// `namespace_of` has the table of each process.
struct NodeEnds {
  std::vector<OpenEnd> ends;
  std::vector<SocketTable> sockets;
  std::vector<std::size_t> namespace_of;  // by process; an index into `sockets`, or kOutside
  std::map<pid_t, pid_t> parents;         // of the processes in `ends` that are not in the capture
  std::vector<OpenFile> files;  // polled lock files, and the processes that have them open
  // Named pipes that a thread reads or writes, by path: a made-up number in place of the inode in
  // `ends`. (The inode needs a stat of the file, which may hang.)
  std::map<std::string, std::uint64_t, std::less<>> named_pipes;
  // By inode: facts about the local sockets that threads wait for; and how long TCP connections
  // have been silent and what they carried, if a thread waits for them or they are in trouble
  // (transfers.h). Only in the agent's network namespace.
  std::map<std::uint64_t, LocalSocket> local_sockets;
  std::map<std::uint64_t, TcpInfo> tcp;
  std::map<std::size_t, Routes> routes;  // by network namespace; only those with trouble

  // Not searched for owners of ends: descriptors of these processes beyond the first ones, and this
  // many other processes, for lack of time. So an end without an owner may have one.
  std::vector<pid_t> cut;
  std::size_t unsearched = 0;
  std::size_t unread_networks = 0;  // network namespaces beyond those in `sockets`

  // Returns the table of the process's network namespace; null if it was not read.
  const SocketTable* table_of(std::size_t process) const;
  // Returns the row of a TCP socket of a process of the capture; null for other files.
  const SocketRow* row_of(const OpenEnd& end) const;
};

inline const SocketTable* NodeEnds::table_of(std::size_t process) const {
  const std::size_t at = process < namespace_of.size() ? namespace_of[process] : kOutside;
  return at < sockets.size() ? &sockets[at] : nullptr;
}

inline const SocketRow* NodeEnds::row_of(const OpenEnd& end) const {
  const SocketTable* table = end.socket ? table_of(end.process) : nullptr;
  return table == nullptr ? nullptr : table->by_inode(end.inode);
}

}  // namespace oddrank::waits
