// The kernel's log: reads its records, and finds processes that it killed for lack of memory, and
// when.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// Visits the records that the log still has, oldest first, with their heads ("3,1234,5678901,-;").
// None if it may not be read. Takes at most `patience`; never waits for another record.
void each_kernel_record(const std::function<void(std::string_view record)>& visit,
                        std::chrono::milliseconds patience = std::chrono::milliseconds{100});

// Returns all kills that the log still has, oldest first. Empty if it may not be read.
std::vector<MemoryKill> read_memory_kills(
    std::chrono::milliseconds patience = std::chrono::milliseconds{100});

}  // namespace oddrank::waits
