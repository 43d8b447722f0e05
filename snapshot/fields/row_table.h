// The tables of a capture file, and what a row of each costs in memory. Private to snapshot/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

enum class RowTable : std::uint8_t {
  kCapture = 0,
  kFrames,
  kStacks,
  kStackFrames,
  kJobHosts,
  kJobNotes,
  kNodes,
  kExpectedRanks,
  kNotes,
  kProcesses,
  kEnvironment,
  kSetup,
  kGroups,
  kGroupCounters,
  kConnections,
  kTransfers,
  kProxies,
  kCollnetHeads,
  kRoots,
  kStoreKeys,
  kCrashes,
  kTasks,
  kTaskMembers,
  kTaskActors,
  kTaskSockets,
  kThreads,
  kAwaitedFiles,
  kKeptSockets,
  kPoolPids,
  kAskedActors,
  kSamples,
  kCalls,
  kFrameLocals,
  kLocals,
  kLoops,
  kLoopCalls,
  kPlaces,
  kTurns,
  kPassedLines,
  kFlightRecords,
  kFlightGroups,
  kFlightEntries,
  kRasCommunicators,
  kRasRanks,
  kLogLines,
  kLogBehind,
  kDevices,
  kDevicePids,
  kLinkPorts,
  kRequests,
  kRequestHolders,
};

struct RowTableFacts {
  std::string_view name;  // also the name of the column in which the owner counts its rows
  // An upper bound of the memory of a decoded and diagnosed row, in vectors that grow, so that a
  // decoder can refuse a file before it allocates (tests/fuzz/peak_memory.h measures).
  std::size_t row_bytes = 64;
  // The same for each frame of the stacks that a row refers to. The file has each stack once.
  std::size_t frame_bytes = 0;
};

// A frame that a report shows takes this much, beside the bytes of its texts.
inline constexpr std::size_t kShownFrameBytes = 400;
inline constexpr std::size_t kGrowth = 3;  // old and new storage of a vector, for a moment

inline constexpr std::size_t kRowTables = static_cast<std::size_t>(RowTable::kRequestHolders) + 1;
inline constexpr std::array<RowTableFacts, kRowTables> kRowTableFacts = {{
    {"capture"},
    {"frames", 2 * sizeof(Frame) + 64},
    {"stacks", 2 * sizeof(Stack) + 64},
    {"stack_frames", kGrowth * sizeof(FrameId)},
    {"job_hosts"},
    {"job_notes"},
    {"nodes", kGrowth * sizeof(NodeCapture)},
    {"expected_ranks", 384},  // each may be a missing rank: a node, its label, rows of the report
    {"notes"},
    {"processes", kGrowth * sizeof(ProcessCapture) + 832},
    {"environment"},
    {"setup"},
    {"groups", kGrowth * sizeof(ProcessGroup) + 112},
    {"group_counters"},
    {"connections", kGrowth * sizeof(Connection) + 128},
    {"transfers", kGrowth * sizeof(Transfer) + 128},
    {"proxies", kGrowth * sizeof(ProxyTransfer) + 256},
    {"collnet_heads", kGrowth * sizeof(CollnetHead) + 256},
    {"bootstrap_roots", kGrowth * sizeof(BootstrapRoot) + 128},
    {"store_keys", kGrowth * sizeof(StoreKey) + 128},
    {"crashes"},
    {"tasks", sizeof(AsyncTask) + 256, kShownFrameBytes},  // reports list every task
    {"task_members", 16},
    {"task_actors", 16},
    {"task_sockets"},
    {"threads", sizeof(ThreadCapture) + 408},
    {"awaited_files"},
    {"kept_sockets"},
    {"pool_pids"},
    {"asked_actors"},
    {"samples", sizeof(ThreadSample) + 24, 4},
    {"calls"},
    {"frame_locals", kGrowth * sizeof(FrameLocals) + 48},
    {"locals"},
    {"loops", kGrowth * sizeof(PythonLoop) + 48},
    {"loop_calls"},
    {"places", kGrowth * sizeof(FramePlace) + 96},
    {"turns"},
    {"passed_lines"},
    {"flight_records", kGrowth * sizeof(FlightRecord) + 512},
    {"flight_groups"},
    {"flight_entries", kGrowth * sizeof(FlightEntry) + 128},
    {"ras_communicators"},
    {"ras_ranks"},
    {"log_lines"},
    {"log_behind"},
    {"devices"},
    {"device_pids"},
    {"link_ports"},
    {"requests"},
    {"request_holders"},
}};

constexpr const RowTableFacts& facts_of(RowTable table) {
  return kRowTableFacts[static_cast<std::size_t>(table)];
}

}  // namespace oddrank::snapshot
