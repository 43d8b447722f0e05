// A call by MPI's own objects in a process's memory: its communicator, and the request that it
// waits for. Plain data; open_mpi.h and mpich.h read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oddrank::collectives {

inline constexpr std::int32_t kMaxMpiProcesses = 1 << 17;

struct MpiCommunicator {
  std::int64_t id =
      -1;            // the same for all members; communicators without common members may share it
  std::string name;  // "MPI_COMM_WORLD", or as the program named it
  bool is_world = false;
  std::int32_t rank = -1;  // of this process
  std::int32_t size = -1;
  // Ranks in the world of this process, in the order of their rank here. Empty: unknown, or the
  // world.
  std::vector<std::int32_t> members;
  // Receives posted in it so far, including those inside collectives; -1: unknown.
  std::int64_t receives = -1;
  std::int64_t nonblocking = -1;  // nonblocking collectives made in it so far; -1: unknown

  bool operator==(const MpiCommunicator&) const = default;
};

// kOneSided: not a request, but a window: some of its members must grant a lock or an epoch.
enum class MpiRequestKind : std::uint8_t { kSend = 0, kRecv, kCollective, kOneSided };

// Locks of a window, by the rank in its communicator whose memory they protect.
struct WindowLocks {
  std::int32_t wanted = -1;
  std::vector<std::int32_t> had;  // for this process alone (MPI_LOCK_EXCLUSIVE)

  bool operator==(const WindowLocks&) const = default;
};

// A request that is not complete.
struct MpiRequest {
  MpiRequestKind kind = MpiRequestKind::kRecv;
  std::int32_t peer = -1;  // rank in the communicator; -1: any, or not a transfer
  std::int32_t tag = -1;   // tags below -1 are the library's own: parts of a collective
  MpiCommunicator communicator;
  WindowLocks locks;  // kOneSided

  bool operator==(const MpiRequest&) const = default;
};

}  // namespace oddrank::collectives
