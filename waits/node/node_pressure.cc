#include "waits/node/node_pressure.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

#include "attach/files/open_named.h"
#include "attach/proc_root.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "waits/cgroups.h"
#include "waits/mounts.h"
#include "waits/node/kernel_log.h"
#include "waits/node/lost_servers.h"

namespace oddrank::waits {

namespace {

constexpr std::string_view kCgroups = "/sys/fs/cgroup";
constexpr std::uint64_t kSeldom = 10;  // fewer than one period in this many is not worth a note
constexpr double kPressed = 10;        // percent of the time
constexpr std::uint64_t kFull = 90;    // percent
constexpr std::uint64_t kRoomLeft = std::uint64_t{64} << 20;  // bytes; a disk with more is not full
constexpr std::uint64_t kSwapThatCountsKib = 65536;
constexpr std::uint64_t kFaultsThatCount = 100;  // between two samples

// Returns the value after `name` in lines of "name value".
std::uint64_t count_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 2 && words[0] == name) {
      return parse_number<std::uint64_t>(words[1]).value_or(0);
    }
  }
  return 0;
}

std::string text_of(const std::string& folder, const char* file) {
  return read_file(folder + "/" + file, 65536).value_or(std::string());
}

std::string shown(const std::string& folder) {
  return folder.substr(std::min(folder.size(), kCgroups.size()));
}

void add_memory(const std::string& folder, std::vector<std::string>& notes) {
  const std::uint64_t kills = std::max(parse_oom_kills(text_of(folder, "memory.events")),
                                       parse_oom_kills(text_of(folder, "memory.oom_control")));
  if (kills > 0) {
    notes.push_back(std::to_string(kills) + (kills == 1 ? " process" : " processes") +
                    " of cgroup " + shown(folder) + (kills == 1 ? " was" : " were") +
                    " killed for lack of memory");
  }
  const double full = parse_pressure(text_of(folder, "memory.pressure"));
  if (full >= kPressed) {
    notes.push_back("all that would run in cgroup " + shown(folder) + " waited for memory in " +
                    std::to_string(std::lround(full)) + "% of the last 10 s");
  }
}

void add_throttling(const std::string& folder, std::vector<std::string>& notes) {
  const Throttling cpu = parse_throttling(text_of(folder, "cpu.stat"));
  if (cpu.throttled > 0 && cpu.throttled >= cpu.periods / kSeldom) {
    notes.push_back("cgroup " + shown(folder) + " got no more CPU in " +
                    std::to_string(cpu.throttled) + " of " + std::to_string(cpu.periods) +
                    " periods (its limit)");
  }
}

void add_pressure(std::vector<std::string>& notes) {
  for (const std::string_view what : {"memory", "io"}) {
    const double full = parse_pressure(text_of("/proc/pressure", std::string(what).c_str()));
    if (full >= kPressed) {
      notes.push_back("all that would run waited for " + std::string(what == "io" ? "I/O" : what) +
                      " in " + std::to_string(std::lround(full)) + "% of the last 10 s");
    }
  }
}

// Returns "99% full (of 1 MiB)", or "" if there is room.
std::string fullness(const struct statvfs& status, bool shared_memory) {
  if (status.f_blocks == 0) {
    return {};
  }
  if (status.f_files > 0 && status.f_favail == 0 && !shared_memory) {
    return "out of inodes";
  }
  const std::uint64_t left = std::min(status.f_blocks, status.f_bavail);
  const std::uint64_t percent = (status.f_blocks - left) * 100 / status.f_blocks;
  // One percent of a large disk is plenty.
  if (percent < kFull || (!shared_memory && left * status.f_frsize >= kRoomLeft)) {
    return {};
  }
  return std::to_string(percent) + "% full (of " +
         std::to_string((status.f_blocks * status.f_frsize) >> 20) + " MiB)";
}

// Adds what is full of shared memory, temporary folders and the process's own folder. `seen` has
// devices, and the folders of each mount namespace.
void add_full_file_systems(pid_t pid,
                           std::set<std::string>& seen,
                           std::vector<std::string>& notes) {
  constexpr std::string_view kSharedMemory = "/dev/shm";
  std::vector<std::string> folders = {std::string(kSharedMemory), "/tmp", "/var/tmp", "/",
                                      attach::read_process_link(pid, "cwd").value_or("/")};
  const std::string space = attach::read_process_link(pid, "ns/mnt").value_or("");
  std::erase_if(folders, [&](const std::string& folder) {
    return !space.empty() && !seen.insert(space + " " + folder).second;
  });
  if (folders.empty()) {
    return;
  }
  const auto files = attach::NamedFiles::of(pid);
  const auto mounts = read_file("/proc/" + std::to_string(pid) + "/mountinfo", kMaxMountinfo);
  if (!files || !mounts) {
    return;
  }
  for (const std::string& folder : folders) {
    const auto mount = mount_of(*mounts, folder);
    if (!mount || !is_local(*mount)) {
      continue;  // a server that is dead would not answer
    }
    const auto found = files->file_system(folder);
    // Not by f_fsid, which is 0 for every tmpfs of kernels before 5.13.
    if (!found || !seen.insert(mount->device).second) {
      continue;
    }
    const bool shared_memory = folder == kSharedMemory && mount->kind == "tmpfs";
    if (const std::string full = fullness(*found, shared_memory); !full.empty()) {
      notes.push_back(folder + " of pid " + std::to_string(pid));
      notes.back() += " is " + full;
    }
  }
}

std::string proc_text(pid_t pid, const char* file) {
  return text_of("/proc/" + std::to_string(pid), file);
}

void add_swap(pid_t pid, const MajorFaults& before, std::vector<std::string>& notes) {
  const std::uint64_t swapped = parse_swap_kib(proc_text(pid, "status"));
  if (swapped >= kSwapThatCountsKib) {
    notes.push_back(std::to_string(swapped >> 10) + " MiB of pid " + std::to_string(pid) +
                    " are swapped out");
  }
  const auto first = before.find(pid);
  const std::uint64_t faults = parse_major_faults(proc_text(pid, "stat"));
  if (first != before.end() && faults >= first->second + kFaultsThatCount) {
    notes.push_back("pid " + std::to_string(pid) + " waited for " +
                    std::to_string(faults - first->second) +
                    " pages from disk while it was sampled");
  }
}

void add_lost_servers(const std::vector<ServerWord>& words, std::vector<std::string>& notes) {
  for (std::string& note : lost_servers(words, kernel_log_now_us())) {
    notes.push_back(std::move(note));
  }
}

// Adds kills since the first rank began; earlier ones do not concern the job.
void add_kills(const snapshot::Capture& capture,
               const KernelWords& words,
               std::vector<std::string>& notes) {
  const std::uint64_t begun_us = first_start_us(capture);
  const std::uint64_t now_us = kernel_log_now_us();
  if (begun_us != UINT64_MAX && now_us != 0) {
    auto found = kill_notes(words.kills, begun_us, now_us);
    std::move(found.begin(), found.end(), std::back_inserter(notes));
  }
}

}  // namespace

std::uint64_t parse_swap_kib(std::string_view status) {
  for (const std::string_view line : split(status, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 3 && words[0] == "VmSwap:") {
      return parse_number<std::uint64_t>(words[1]).value_or(0);
    }
  }
  return 0;
}

std::uint64_t parse_major_faults(std::string_view stat) {
  constexpr std::size_t kField = 9;  // after the name, which may contain blanks and brackets
  const auto name_end = stat.rfind(')');
  const auto words =
      split_blanks(name_end == std::string_view::npos ? "" : stat.substr(name_end + 1));
  return words.size() > kField ? parse_number<std::uint64_t>(words[kField]).value_or(0) : 0;
}

MajorFaults read_major_faults(const snapshot::Capture& capture) {
  MajorFaults faults;
  for (const snapshot::ProcessCapture& process : capture.processes) {
    faults[process.pid] = parse_major_faults(proc_text(process.pid, "stat"));
  }
  return faults;
}

std::uint64_t parse_oom_kills(std::string_view text) {
  return count_of(text, "oom_kill");
}

Throttling parse_throttling(std::string_view text) {
  return {count_of(text, "nr_periods"), count_of(text, "nr_throttled")};
}

double parse_pressure(std::string_view text) {
  constexpr std::string_view kStart = "full avg10=";
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(kStart)) {
      continue;
    }
    double percent = 0;
    const std::string_view number = line.substr(kStart.size());
    const auto end = std::from_chars(number.data(), number.data() + number.size(), percent);
    return end.ec == std::errc() && percent >= 0 && percent <= 100 ? percent : 0;
  }
  return 0;
}

std::vector<std::string> node_pressure(const snapshot::Capture& capture,
                                       const MajorFaults& before) {
  std::vector<std::string> notes;
  std::set<std::string> folders;
  std::set<std::string> file_systems;
  const auto mountinfo = read_file("/proc/self/mountinfo").value_or(std::string());
  for (const snapshot::ProcessCapture& process : capture.processes) {
    const auto text = read_file("/proc/" + std::to_string(process.pid) + "/cgroup", 65536);
    const std::string memory = text ? cgroup_folder(*text, mountinfo, "memory") : "";
    const std::string cpu = text ? cgroup_folder(*text, mountinfo, "cpu") : "";
    if (!memory.empty() && folders.insert("memory " + memory).second) {
      add_memory(memory, notes);
    }
    if (!cpu.empty() && folders.insert("cpu " + cpu).second) {
      add_throttling(cpu, notes);
    }
    add_full_file_systems(process.pid, file_systems, notes);
    add_swap(process.pid, before, notes);
  }
  const KernelWords log = read_kernel_words();
  add_kills(capture, log, notes);
  add_lost_servers(log.servers, notes);
  add_pressure(notes);
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  notes.push_back(load_note(text_of("/proc", "loadavg"),
                            cpus > 0 ? static_cast<std::size_t>(cpus) : 0, capture));
  std::erase(notes, std::string());
  return notes;
}

namespace {

constexpr double kFarAbove = 2;
constexpr double kMaxLoad = 1e6;

// "37.20 20.11 9.03 12/1204 3121"; 0 if it is something else.
double load_of(std::string_view text) {
  double load = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), load);
  return end.ec == std::errc() && load >= 0 && load <= kMaxLoad ? load : 0;
}

bool wants_to_run(const snapshot::ProcessCapture& process) {
  return std::ranges::any_of(process.threads, [](const snapshot::ThreadCapture& thread) {
    return std::ranges::any_of(thread.samples, [](const auto& each) { return each.state == 'R'; });
  });
}

}  // namespace

std::string load_note(std::string_view loadavg,
                      std::size_t cpus,
                      const snapshot::Capture& capture) {
  const double load = load_of(loadavg);
  if (cpus == 0 || load < kFarAbove * static_cast<double>(cpus)) {
    return {};
  }
  std::set<std::int32_t> ranks;
  for (const snapshot::ProcessCapture& process : capture.processes) {
    if (process.is_rank && wants_to_run(process)) {
      ranks.insert(process.rank);
    }
  }
  if (ranks.empty()) {
    return {};
  }
  const std::string who =
      ranks.size() > 1     ? "threads of " + std::to_string(ranks.size()) + " ranks want"
      : *ranks.begin() < 0 ? std::string("a process that was read wants")
                           : "rank " + std::to_string(*ranks.begin()) + " wants";
  const auto tenths = static_cast<std::uint64_t>(load * 10);
  std::string note = "the load is " + std::to_string(tenths / 10) + "." +
                     std::to_string(tenths % 10) + " on " + std::to_string(cpus) + " CPU";
  note += cpus == 1 ? "" : "s";
  return note + ", and " + who + " to run";
}

}  // namespace oddrank::waits
