// A file that a thread waits for, and what is known about its other end.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

// A store of torch.distributed: by MASTER_PORT, or by the frames above the connection.
enum class Store : std::uint8_t { kNone = 0, kMasterPort, kOther };

// AwaitedFile::state of a socket that accepts connections (include/net/tcp_states.h).
inline constexpr std::uint8_t kTcpListens = 10;

struct AwaitedFile {
  std::int32_t fd = -1;
  StringId link{};  // as the kernel names it: "pipe:[31]", "/data/x"; empty: not known
  // For a TCP socket whose row in the kernel's table was found.
  StringId local{};
  StringId peer{};
  // include/net/tcp_states.h; of a local socket only kTcpListens; 0: unknown.
  std::uint8_t state = 0;
  Store store = Store::kNone;
  bool tls = false;               // the frames above it are TLS's
  bool tells_end = false;         // it brings nothing; it is closed when a process ends
  std::uint64_t unread = 0;       // bytes that have arrived and were not read
  std::uint64_t unsent = 0;       // bytes that the peer has not acknowledged
  std::int64_t sent_ms = -1;      // since it last sent data; -1: not known
  std::int64_t received_ms = -1;  // since it last received data
  // The process that has the other end; 0: none, several, or unknown. If it is the waiting process,
  // it wakes itself in this way (by a pipe or a pair of sockets of its own).
  pid_t holder_pid = 0;
  StringId note{};  // which processes have the other end, in words

  bool listens() const { return state == kTcpListens; }

  bool operator==(const AwaitedFile&) const = default;
};

}  // namespace oddrank::snapshot
