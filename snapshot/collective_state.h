// What is known about a job's communication besides the stacks of its ranks: dumps of flight
// recorders, answers of NCCL's RAS service, lines of logs, the state of devices and links. Plain
// data; each part may be empty, which is the normal case.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "snapshot/flight_record.h"
#include "snapshot/ids.h"

namespace oddrank::snapshot {

// The operations that RAS counts, in its order.
inline constexpr std::size_t kRasOperations = 5;
inline constexpr std::array<const char*, kRasOperations> kRasOperationNames = {
    "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};

// How often the host has launched each; -1 = not reported. Excludes sends and graphs, and says
// nothing about completion.
using RasCounts = std::array<std::int64_t, kRasOperations>;
inline constexpr RasCounts kNoRasCounts = {-1, -1, -1, -1, -1};

enum class RasPresence : std::uint8_t {
  kAnswered = 0,
  kMissing,  // its data did not arrive (it is stopped, busy in the kernel, or the network fails)
  kDead,     // RAS has given up on it
  kMemory,   // RAS did not report it: its agent read NCCL's memory
};

// A member of a communicator, as reported by the service, or as read from its own memory (kMemory).
struct RasRank {
  std::int32_t rank = -1;  // within the communicator
  StringId host{};         // address as reported, "10.0.0.1"
  pid_t reported_pid = 0;  // in the rank's own pid namespace; 0 = unknown
  pid_t pid = 0;           // its process on this node; 0 = it is on another node, or unclear
  std::int32_t device = -1;
  RasPresence presence = RasPresence::kAnswered;
  std::int32_t init_state = 0;   // ncclResult_t: 0 = done, 7 = in progress
  std::int32_t async_error = 0;  // ncclResult_t
  bool leaving = false;          // finalize, destroy or abort was called
  RasCounts counts = kNoRasCounts;
  RasCounts later = kNoRasCounts;  // at a second query

  bool operator==(const RasRank&) const = default;
};

// A communicator, as seen by one node: the members on that node, and the missing ones.
struct RasCommunicator {
  std::uint32_t node = 0;  // index into Capture::nodes
  StringId hash{};         // "0x1122334455667788 0x99:0xaa": the same on all members
  StringId version{};      // of NCCL, "2.28.9"
  std::int32_t size = -1;  // members altogether
  std::vector<RasRank> ranks;

  bool operator==(const RasCommunicator&) const = default;
};

// Returns whether it comes from one process's own memory, not from an answer of the service.
inline bool is_from_memory(const RasCommunicator& communicator) {
  return !communicator.ranks.empty() && communicator.ranks.front().presence == RasPresence::kMemory;
}

enum class LogKind : std::uint8_t {
  kWatchdogTimeout = 0,  // "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=..."
  kDesync,               // PyTorch's desync report: the ranks that it says are behind
  kWarning,              // of NCCL
  kInit,                 // of NCCL: a communicator is being made, or is complete
  kTaskEnd,              // of srun: "srun: error: n1: task 3: Exited with exit code 1"
  kTaskStatus,           // of slurmstepd: task `rank` has ended, with the status `sequence`
};

struct LogLine {
  std::uint32_t node = 0;
  LogKind kind = LogKind::kWarning;
  std::int32_t rank = -1;      // global, from the line or its file; -1 = unknown
  std::int64_t sequence = -1;  // of a timeout; of kTaskStatus: what wait(2) returned
  StringId op{};               // of a timeout, "all_reduce"
  // Global ranks that a desync report names; of kTaskEnd: tasks of the step that have ended.
  std::vector<std::int32_t> behind;
  StringId text{};    // the line, cut
  StringId source{};  // the file

  bool operator==(const LogLine&) const = default;
};

// A GPU; -1 = unknown.
struct Device {
  std::uint32_t node = 0;
  std::int32_t index = -1;
  StringId name{};
  std::int32_t utilization = -1;         // percent of time in which a kernel ran
  std::int32_t memory_utilization = -1;  // percent of time in which memory was moved
  std::int64_t power_mw = -1;
  std::int64_t power_limit_mw = -1;
  std::int64_t memory_used_mib = -1;
  std::int64_t memory_total_mib = -1;
  std::int32_t clock_mhz = -1;
  std::int64_t ecc_errors = -1;  // uncorrected, since the driver was loaded
  std::int32_t pcie_width = -1;  // lanes of its link now
  // What lowers its clock now, as bits of NVML (nvmlClocksEventReasons); -1: not known.
  std::int64_t clock_reasons = -1;
  std::int64_t nvlink_errors = -1;        // of all its links, since the driver was loaded
  std::int64_t nvlink_errors_later = -1;  // at the end of the capture
  StringId pci{};                         // "0000:3b:00": domain, bus and device
  // Its error since the job began that tells most of a GPU that stands (devices/xid_errors.h), of
  // several such the newest; 0: it had none; -1: the kernel's log could not be read.
  std::int32_t xid = -1;
  std::int64_t xid_ago_s = -1;
  StringId xid_text{};      // the driver's words: "79, pid=7, name=python3, GPU has fallen off"
  std::vector<pid_t> pids;  // processes with a context on it, in the agent's pid namespace

  bool operator==(const Device&) const = default;
};

// A port of an InfiniBand or RoCE adapter.
struct LinkPort {
  std::uint32_t node = 0;
  StringId device{};  // "mlx5_0"
  std::int32_t port = -1;
  StringId state{};                     // "ACTIVE", "DOWN"
  StringId physical{};                  // "LinkUp", "Polling"
  StringId rate{};                      // "200 Gb/sec (4X HDR)"
  std::int64_t link_downed = -1;        // how often it went down
  std::int64_t errors = -1;             // of the line, of sequence, missing answers
  std::int64_t errors_later = -1;       // at the end of the capture
  std::int64_t transferred = -1;        // octets both ways, divided by 4
  std::int64_t transferred_later = -1;  // at the end of the capture

  bool operator==(const LinkPort&) const = default;
};

// Resources that a scheduler within the job (Ray's) does not have free for a task, an actor or a
// placement group.
struct ResourceRequest {
  std::uint32_t node = 0;  // where that was said
  bool is_group = false;   // a placement group; else a task or an actor
  StringId shape{};        // what is asked for, in the scheduler's words: "{'GPU': 4.0} * 2 (PACK)"
  std::int64_t pending_ms = 0;  // it has been pending for at least this long
  std::int64_t said_ms = 0;     // how long before the capture that was said
  // The resource of which all nodes together have too little free; empty: none, or unknown. In
  // thousandths.
  StringId lacks{};
  std::int64_t asked = 0;
  std::int64_t free = 0;
  std::int64_t total = 0;
  std::vector<pid_t> holders;  // processes of this node that have some of it
  StringId source{};           // the file

  bool operator==(const ResourceRequest&) const = default;
};

struct CollectiveState {
  std::vector<FlightRecord> flight;  // in no order; several of one rank are possible
  std::vector<RasCommunicator> ras;
  std::vector<LogLine> log;
  std::vector<Device> devices;
  std::vector<LinkPort> ports;
  std::vector<ResourceRequest> requests;

  bool operator==(const CollectiveState&) const = default;
};

}  // namespace oddrank::snapshot
