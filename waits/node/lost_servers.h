// Servers of file systems that the kernel waits for, by its log. So mounts that hang are noticed
// without being touched, which may never return.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::waits {

struct ServerWord {
  std::string server;  // "NFS server n7", "Lustre target lustre-OST0003"
  bool answers = false;
  std::uint64_t at_us = 0;  // after boot

  bool operator==(const ServerWord&) const = default;
};

// Parses one record of /dev/kmsg (kernel_log.h): "5,1234,5678901,-;nfs: server n7 not responding,
// still trying", "nfs: server n7 OK" (net/sunrpc/clnt.c), "ceph: mds0 hung", "ceph: mds0 came back"
// (fs/ceph/mds_client.c), "Lustre: lustre-OST0003-osc-ffff: Connection to lustre-OST0003 (at
// 10.0.0.7@o2ib) was lost; in progress operations ...", "... Connection restored to ..." (Lustre's
// ptlrpc/import.c). Returns nullopt for other records, and for any that the kernel did not write.
std::optional<ServerWord> parse_server_word(std::string_view record);

// Returns a line for each server whose last message says that it does not answer: "NFS server n7
// has not responded for 3 min (kernel log)"; four at most. `words` in the order of the log.
std::vector<std::string> lost_servers(const std::vector<ServerWord>& words, std::uint64_t now_us);

}  // namespace oddrank::waits
