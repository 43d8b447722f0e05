// What a thread is blocked on, and who holds it: the raw material of the wait-for graph.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

// The values of waits_for.what in the JSON (docs/json.md), in its order.
enum class WaitOn : std::uint8_t {
  kUnknown = 0,
  kCollective,
  kPeer,
  kChild,
  kThread,
  kLock,
  kGil,
  kFileLock,
  kFile,
  kPipe,
  kSocket,
  kDevice,
  kRendezvous,
  kInput,
  kDebugger,
  kSignal,
  kNothing,  // it runs
};

enum class Known : std::uint8_t { kUnknown = 0, kNo = 1, kYes = 2 };

struct Wait {
  WaitOn on = WaitOn::kUnknown;
  bool inferred = false;      // concluded from frames, not read from the kernel or from memory
  std::int32_t syscall = -1;  // x86-64 number; -1 = none or unknown
  StringId syscall_name{};    // "read"
  StringId wchan{};           // kernel function it sleeps in, where the kernel tells
  std::int32_t fd = -1;       // that the call is about
  StringId path{};            // what that fd is, or the file, device or lock file waited for
  StringId local{};           // established TCP connection: its own address, "10.0.0.1:43210"
  StringId peer{};            // the other end's address
  std::uint64_t address = 0;  // futex word
  pid_t holder_pid = 0;       // in the agent's pid namespace; 0 = unknown or nobody
  pid_t holder_tid = 0;
  Known holder_alive = Known::kUnknown;
  StringId detail{};  // evidence in a few words, for people
  // At least so long the thread has not run: it woke for nothing meanwhile, not even to look at a
  // clock or for another signal. -1: unknown, or it runs.
  std::int64_t quiet_ms = -1;

  bool operator==(const Wait&) const = default;
};

}  // namespace oddrank::snapshot
