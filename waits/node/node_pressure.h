// Notes what a node lacks, as context of a hang: processes killed for lack of memory, CPU that a
// cgroup withholds or other programs take, pressure, full shared memory and disks, servers of file
// systems that do not answer. The result is lines for a report, not a verdict: a count shows that
// something happened, not when.
//
// Notes that other programs take the CPUs that a node's ranks want.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::waits {

// Returns "oom_kill" of memory.events (cgroup v2) or memory.oom_control (v1); 0 if it is not there.
std::uint64_t parse_oom_kills(std::string_view text);

// From cpu.stat of both versions: periods, and how many of them were cut short.
struct Throttling {
  std::uint64_t periods = 0;
  std::uint64_t throttled = 0;
};
// Returns zeros for what is not there.
Throttling parse_throttling(std::string_view text);

// Returns "full avg10=12.34 ..." of a file of pressure stall information, in percent; 0 if it is
// not there.
double parse_pressure(std::string_view text);

// Returns "VmSwap:  2048 kB" of /proc/PID/status, in KiB; 0 if it is not there.
std::uint64_t parse_swap_kib(std::string_view status);

// Returns from /proc/PID/stat how often the process had to wait for a page from disk; 0 if it is
// not there.
std::uint64_t parse_major_faults(std::string_view stat);

// Page faults of the processes of a capture, by pid.
using MajorFaults = std::map<pid_t, std::uint64_t>;
// Leaves out what cannot be read.
MajorFaults read_major_faults(const snapshot::Capture& capture);

// Returns lines about the node of the capture and the cgroups of its processes: "2 processes of
// cgroup /slurm/job_7 were killed for lack of memory". `before` is what read_major_faults returned
// before the first sample. Asks local file systems how full they are, through the processes' own
// mounts, which may block: run it in a child (base/isolated.h).
std::vector<std::string> node_pressure(const snapshot::Capture& capture, const MajorFaults& before);

// `loadavg`: the text of /proc/loadavg. Returns "the load is 37.2 on 8 CPUs, and threads of 2 ranks
// want to run" if the average of the last minute is at least twice the number of CPUs, and a thread
// of a rank was found runnable in a sample; "" otherwise. A load that keeps no rank waiting is not
// noted: the load also counts threads in state D.
std::string load_note(std::string_view loadavg, std::size_t cpus, const snapshot::Capture& capture);

}  // namespace oddrank::waits
