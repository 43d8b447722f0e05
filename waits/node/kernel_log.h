// The kernel's log: which processes it killed for lack of memory and when, which errors NVIDIA's
// driver reports of GPUs, and its messages about servers of file systems (lost_servers.h).
//
// Joins the errors that NVIDIA's driver wrote to the kernel's log (Xid) to the GPUs of a node.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/capture.h"
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

struct GpuError {
  std::string device;  // "0000:41:00": domain, bus and device of PCI
  std::int32_t xid = 0;
  std::string text;         // printable, at most 120 characters
  std::uint64_t at_us = 0;  // after boot

  bool operator==(const GpuError&) const = default;
};

// Parses one record of the same form: "...;NVRM: Xid (PCI:0000:41:00): 79, pid=7, name=python3, GPU
// has fallen off the bus." (NVIDIA's document "Xid Errors"). Returns nullopt if the record is about
// something else.
std::optional<GpuError> parse_gpu_error(std::string_view record);

// Calls take(row, how many seconds ago) for the rows since `begun_us`, both times after boot, the
// newest first. The rows are oldest first.
template <typename Row, typename Take>
void each_newest(const std::vector<Row>& rows,
                 std::uint64_t begun_us,
                 std::uint64_t now_us,
                 const Take& take) {
  constexpr std::uint64_t kSecondUs = 1'000'000;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (row->at_us + kSecondUs >= begun_us) {  // the times are from two kernel clocks
      take(*row, (now_us - std::min(now_us, row->at_us)) / kSecondUs);
    }
  }
}

// Returns notes about what happened since `begun_us`, the newest first; the first kMaxKernelNotes,
// and how many more: "pid 77 (python3) was killed for lack of memory 41 s ago (kernel log)".
inline constexpr std::size_t kMaxKernelNotes = 8;
std::vector<std::string> kill_notes(const std::vector<MemoryKill>& kills,
                                    std::uint64_t begun_us,
                                    std::uint64_t now_us);

// Returns the time after boot by the log's clock, which does not run while a machine sleeps; 0 if
// it is not known.
std::uint64_t kernel_log_now_us();

// Returns when the first rank of the capture began, after boot; the largest number if there is
// none.
std::uint64_t first_start_us(const snapshot::Capture& capture);

struct KernelWords {
  bool readable = false;             // false: not permitted
  std::vector<MemoryKill> kills;     // oldest first; the newest 4,096
  std::vector<GpuError> gpu_errors;  // oldest first; the newest 4,096
  std::vector<ServerWord> servers;   // oldest first; the oldest 4,096
};

// Reads what the log still has of all these, in one pass, since each of thousands of records may
// take a system call. Empty if reading is not permitted. Takes at most `patience`; never waits for
// another record.
KernelWords read_kernel_words(std::chrono::milliseconds patience = std::chrono::milliseconds{100});

// Sets the error of each GPU on the capture's only node: the most telling one since `begun_us`.
// Both times are after boot. A GPU that is lost may be missing in the table of GPUs. Its newest
// error becomes a note: "GPU 0000:41:00 had an error 41 s ago (kernel log): Xid 79, ...".
void add_gpu_errors(const KernelWords& words,
                    std::uint64_t begun_us,
                    std::uint64_t now_us,
                    snapshot::Capture& capture);

// Reads the kernel's log, and does the same for errors since the first rank began. Does nothing if
// there is no rank.
void add_gpu_errors(snapshot::Capture& capture);

}  // namespace oddrank::waits
