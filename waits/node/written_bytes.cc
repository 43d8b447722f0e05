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
    const IoBytes bytes = text ? parse_io(*text) : IoBytes();
    if (bytes.written >= 0 && bytes.read >= 0) {
      send_bytes(fd, std::to_string(pid) + " " + std::to_string(bytes.written) + " " +
                         std::to_string(bytes.read) + "\n");
    }
  }
}

}  // namespace

IoBytes parse_io(std::string_view io) {
  const auto value_of = [](std::string_view line, std::string_view name) {
    const auto count = parse_number<std::int64_t>(line.substr(name.size()));
    return count && *count >= 0 ? *count : -1;
  };
  IoBytes bytes;
  for (const std::string_view line : split(io, '\n')) {
    if (line.starts_with("wchar: ")) {
      bytes.written = value_of(line, "wchar: ");
    } else if (line.starts_with("rchar: ")) {
      bytes.read = value_of(line, "rchar: ");
    }
  }
  return bytes;
}

WrittenBytes::WrittenBytes(const snapshot::Capture& capture)
    : task_({[pids = pids_of(capture)](int fd) { send_counts(pids, fd); }, kIoPatience}) {}

std::map<pid_t, IoBytes> WrittenBytes::finish() {
  std::map<pid_t, IoBytes> counts;
  const IsolatedResult result = task_.finish();
  for (const std::string_view line : split(result.bytes, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() != 3) {
      continue;
    }
    const auto pid = parse_number<pid_t>(words[0]);
    const auto written = parse_number<std::int64_t>(words[1]);
    const auto read = parse_number<std::int64_t>(words[2]);
    if (pid && written && read) {
      counts[*pid] = {*written, *read};
    }
  }
  return counts;
}

void set_written_bytes(const std::map<pid_t, IoBytes>& before,
                       const std::map<pid_t, IoBytes>& after,
                       snapshot::Capture& capture) {
  for (snapshot::ProcessCapture& process : capture.processes) {
    const auto first = before.find(process.pid);
    const auto last = after.find(process.pid);
    if (first == before.end() || last == after.end()) {
      continue;
    }
    if (last->second.written >= first->second.written) {
      process.written_bytes = last->second.written - first->second.written;
    }
    if (last->second.read >= first->second.read) {
      process.read_bytes = last->second.read - first->second.read;
    }
  }
}

}  // namespace oddrank::waits
