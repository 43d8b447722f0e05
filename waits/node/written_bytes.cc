#include "waits/node/written_bytes.h"

#include <chrono>
#include <string>
#include <vector>

#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxIoText = 4096;
constexpr std::chrono::milliseconds kIoPatience{500};

constexpr std::size_t kMaxCounted = 4096;

// Ranks first.
std::vector<pid_t> pids_of(const snapshot::Capture& capture) {
  std::vector<pid_t> pids;
  for (const bool ranks : {true, false}) {
    for (const snapshot::ProcessCapture& process : capture.processes) {
      if (process.is_rank == ranks && pids.size() < kMaxCounted) {
        pids.push_back(process.pid);
      }
    }
  }
  return pids;
}

void send_counts(const std::vector<pid_t>& pids, int fd) {
  for (const pid_t pid : pids) {
    const auto text = read_file("/proc/" + std::to_string(pid) + "/io", kMaxIoText);
    const std::int64_t written = text ? parse_written(*text) : -1;
    if (written >= 0) {
      send_bytes(fd, std::to_string(pid) + " " + std::to_string(written) + "\n");
    }
  }
}

}  // namespace

std::int64_t parse_written(std::string_view io) {
  constexpr std::string_view kName = "wchar: ";
  for (const std::string_view line : split(io, '\n')) {
    if (line.starts_with(kName)) {
      const auto count = parse_number<std::int64_t>(line.substr(kName.size()));
      return count && *count >= 0 ? *count : -1;
    }
  }
  return -1;
}

WrittenBytes::WrittenBytes(const snapshot::Capture& capture)
    : task_({[pids = pids_of(capture)](int fd) { send_counts(pids, fd); }, kIoPatience}) {}

std::map<pid_t, std::int64_t> WrittenBytes::finish() {
  std::map<pid_t, std::int64_t> counts;
  const IsolatedResult result = task_.finish();
  for (const std::string_view line : split(result.bytes, '\n')) {
    const auto words = split_blanks(line);
    const auto pid = words.size() == 2 ? parse_number<pid_t>(words[0]) : std::nullopt;
    const auto count = words.size() == 2 ? parse_number<std::int64_t>(words[1]) : std::nullopt;
    if (pid && count) {
      counts[*pid] = *count;
    }
  }
  return counts;
}

void set_written_bytes(const std::map<pid_t, std::int64_t>& before,
                       const std::map<pid_t, std::int64_t>& after,
                       snapshot::Capture& capture) {
  for (snapshot::ProcessCapture& process : capture.processes) {
    const auto first = before.find(process.pid);
    const auto last = after.find(process.pid);
    if (first != before.end() && last != after.end() && last->second >= first->second) {
      process.written_bytes = last->second - first->second;
    }
  }
}

}  // namespace oddrank::waits
