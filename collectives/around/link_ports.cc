#include "collectives/around/link_ports.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::collectives {
namespace {

constexpr std::size_t kMaxPorts = 256;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator() && names.size() < kMaxPorts;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string line_of(const std::string& path) {
  constexpr std::size_t kMaxText = 100;
  const auto text = read_file(path, kMaxText);
  return text ? std::string(trim(*text)) : std::string();
}

// Returns "ACTIVE" for "4: ACTIVE".
std::string word_of(const std::string& path) {
  const std::string line = line_of(path);
  const auto colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

std::int64_t counter(const std::string& path) {
  return parse_number<std::int64_t>(line_of(path)).value_or(-1);
}

// Adds the counters; -1 only if all of them are missing.
template <std::size_t size>
std::int64_t sum_of(const std::string& folder, const std::array<const char*, size>& names) {
  std::int64_t sum = -1;
  for (const char* name : names) {
    const std::int64_t value = counter(folder + name);
    if (value >= 0 && __builtin_add_overflow(std::max<std::int64_t>(sum, 0), value, &sum)) {
      return -1;
    }
  }
  return sum;
}

snapshot::LinkPort read_port(const std::string& folder, snapshot::Tables& tables) {
  constexpr std::array kErrors = {
      "counters/symbol_error",       "counters/local_link_integrity_errors",
      "hw_counters/out_of_sequence", "hw_counters/packet_seq_err",
      "counters/port_rcv_errors",    "hw_counters/local_ack_timeout_err",
      "hw_counters/req_cqe_error",   "hw_counters/rnr_nak_retry_err"};
  constexpr std::array kTraffic = {"counters/port_xmit_data", "counters/port_rcv_data"};
  snapshot::LinkPort port;
  port.state = tables.string(word_of(folder + "state"));
  port.physical = tables.string(word_of(folder + "phys_state"));
  port.rate = tables.string(line_of(folder + "rate"));
  // Soft-RoCE and some adapters count it among the counters of the driver.
  port.link_downed = std::max(counter(folder + "counters/link_downed"),
                              counter(folder + "hw_counters/link_downed"));
  port.errors = sum_of(folder, kErrors);
  port.transferred = sum_of(folder, kTraffic);
  return port;
}

}  // namespace

std::vector<snapshot::LinkPort> read_link_ports(const std::string& root, snapshot::Tables& tables) {
  std::vector<snapshot::LinkPort> ports;
  for (const std::string& device : names_in(root)) {
    std::string folder = root;
    folder.append("/").append(device).append("/ports/");
    for (const std::string& name : names_in(folder)) {
      const auto number = parse_number<std::int32_t>(name);
      if (!number || ports.size() >= kMaxPorts) {
        continue;
      }
      std::string files = folder;
      files.append(name).append("/");
      ports.push_back(read_port(files, tables));
      ports.back().device = tables.string(device.substr(0, 64));
      ports.back().port = *number;
    }
  }
  return ports;
}

void add_later_counts(const snapshot::Capture& later, snapshot::Capture& capture) {
  for (snapshot::LinkPort& port : capture.collectives.ports) {
    const auto& all = later.collectives.ports;
    const auto same = std::find_if(all.begin(), all.end(), [&](const snapshot::LinkPort& other) {
      return port.node == 0 && other.port == port.port &&
             later.tables.text(other.device) == capture.tables.text(port.device);
    });
    if (same != all.end()) {
      port.errors_later = same->errors;
      port.transferred_later = same->transferred;
    }
  }
}

}  // namespace oddrank::collectives
