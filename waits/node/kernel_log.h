// The kernel's log: which processes it killed for lack of memory and when, and its messages about
// servers of file systems (lost_servers.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waits/node/lost_servers.h"

namespace oddrank::waits {

struct MemoryKill {
  pid_t pid = 0;            // in the first pid namespace of the machine
  std::string name;         // comm
  std::uint64_t at_us = 0;  // after boot
};

// Parses one record of /dev/kmsg: "3,1234,5678901,-;Out of memory: Killed process 77 (python3) ..."
// (the kernel's Documentation/ABI/testing/dev-kmsg; mm/oom_kill.c). Returns nullopt if the record
// is about something else.
std::optional<MemoryKill> parse_memory_kill(std::string_view record);

struct KernelWords {
  std::vector<MemoryKill> kills;    // oldest first; the newest 64
  std::vector<ServerWord> servers;  // oldest first; the oldest 4,096
};

// Reads what the log still has of both, in one pass, since each of thousands of records may take a
// system call. Empty if reading is not permitted. Takes at most `patience`; never waits for another
// record.
KernelWords read_kernel_words(std::chrono::milliseconds patience = std::chrono::milliseconds{100});

}  // namespace oddrank::waits
