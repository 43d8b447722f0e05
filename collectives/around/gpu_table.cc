#include "collectives/around/gpu_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::collectives {

namespace {

constexpr std::size_t kColumns = 13;
constexpr std::size_t kMaxDevices = 256;
constexpr std::size_t kMaxProcesses = 1024;  // of a device

std::int64_t number(std::string_view text) {
  return parse_number<std::int64_t>(text).value_or(-1);
}

std::int32_t small_number(std::string_view text) {
  return parse_number<std::int32_t>(text).value_or(-1);
}

// Returns 93250 for "93.25" W. No exponents, no signs.
std::int64_t milliwatts(std::string_view text) {
  const auto point = text.find('.');
  const std::int64_t whole = number(text.substr(0, point));
  if (whole < 0 || whole > 1'000'000) {
    return -1;
  }
  std::string_view rest = point == std::string_view::npos ? "" : text.substr(point + 1);
  std::int64_t fraction = 0;
  for (std::size_t digit = 0; digit < 3; ++digit) {
    const bool there = digit < rest.size() && rest[digit] >= '0' && rest[digit] <= '9';
    fraction = fraction * 10 + (there ? rest[digit] - '0' : 0);
  }
  return whole * 1000 + fraction;
}

// Splits a line; returns at most one cell more than a row should have.
std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> trimmed;
  while (!line.empty() && trimmed.size() <= kColumns) {
    trimmed.push_back(trim(take_piece(line, ',')));
  }
  return trimmed;
}

// Returns the bits of "0x0000000000000004"; -1 for "[N/A]".
std::int64_t bits(std::string_view text) {
  constexpr std::string_view kPrefix = "0x";
  const auto value = text.starts_with(kPrefix)
                         ? parse_number<std::int64_t>(text.substr(kPrefix.size()), 16)
                         : std::nullopt;
  return value && *value >= 0 ? *value : -1;
}

// Calls take(uuid, bits) for each answer of kGpuClockFields.
template <typename Take>
void each_clock(std::string_view clocks, const Take& take) {
  while (!clocks.empty()) {
    const auto values = cells(take_piece(clocks, '\n'));
    if (values.size() == 2 && values[1].starts_with("0x")) {
      take(values[0], bits(values[1]));
    }
  }
}

// Returns "0000:3b:00", as the kernel's log has it, of "00000000:3B:00.0"; "" if it is no such
// address.
std::string pci_of(std::string_view text) {
  const auto parts = split(text.substr(0, text.find('.')), ':');
  const auto domain = parts.size() == 3 ? parse_number<std::uint32_t>(parts[0], 16) : std::nullopt;
  const auto bus = domain ? parse_number<std::uint8_t>(parts[1], 16) : std::nullopt;
  const auto device = bus ? parse_number<std::uint8_t>(parts[2], 16) : std::nullopt;
  return device ? fmt::format("{:04x}:{:02x}:{:02x}", *domain, *bus, *device) : std::string();
}

// Calls take(uuid, errors) for each error counter of a link in an answer of nvlink -e: "GPU 0:
// NVIDIA H100 (UUID: GPU-aa)", then lines such as "Link 0: Replay Errors: 0". Counters of what was
// corrected by design ("FEC Errors - 0", "Symbol Errors") do not count. Source: outputs of V100 to
// H100, and of a B300 with driver 595.
template <typename Take>
void each_nvlink_count(std::string_view nvlinks, const Take& take) {
  constexpr std::array<std::string_view, 8> kCounters = {"Replay Errors",
                                                         "Recovery Errors",
                                                         "CRC Errors",
                                                         "Malformed packet Errors",
                                                         "Buffer overrun Errors",
                                                         "Rx Errors",
                                                         "Local link integrity Errors",
                                                         "Link recovery failed events"};
  constexpr std::string_view kUuid = "(UUID: ";
  constexpr std::int64_t kMaxErrors = std::int64_t{1} << 32;
  std::string_view uuid;
  while (!nvlinks.empty()) {
    const std::string_view line = trim(take_piece(nvlinks, '\n'));
    if (line.starts_with("GPU ")) {
      const auto at = line.find(kUuid);
      uuid = at == std::string_view::npos ? "" : line.substr(at + kUuid.size());
      uuid = uuid.substr(0, uuid.find(')'));
      continue;
    }
    const auto parts = split(line, ':');
    const bool counts = parts.size() == 3 && parts[0].starts_with("Link ") &&
                        std::ranges::find(kCounters, trim(parts[1])) != kCounters.end();
    const std::int64_t errors = counts ? number(trim(parts[2])) : -1;
    if (errors >= 0 && !uuid.empty()) {
      take(uuid, std::min(errors, kMaxErrors));
    }
  }
}

}  // namespace

bool has_nvlink_errors(std::string_view nvlinks) {
  bool any = false;
  each_nvlink_count(
      nvlinks, [&any](std::string_view /*uuid*/, std::int64_t errors) { any = any || errors > 0; });
  return any;
}

bool has_clock_reasons(std::string_view clocks) {
  bool any = false;
  each_clock(clocks, [&any](std::string_view /*uuid*/, std::int64_t /*bits*/) { any = true; });
  return any;
}

std::vector<snapshot::Device> read_gpu_table(const GpuAnswers& answers, snapshot::Tables& tables) {
  auto [devices, processes, clocks, nvlinks, nvlinks_later] = answers;
  std::vector<snapshot::Device> rows;
  std::map<std::string, std::size_t, std::less<>> by_uuid;
  while (!devices.empty()) {
    const auto values = cells(take_piece(devices, '\n'));
    if (values.size() != kColumns || small_number(values[0]) < 0 || rows.size() >= kMaxDevices) {
      continue;
    }
    by_uuid.emplace(std::string(values[1]), rows.size());
    snapshot::Device& row = rows.emplace_back();
    row.index = small_number(values[0]);
    row.name = tables.string(values[2].substr(0, 100));
    row.utilization = small_number(values[3]);
    row.memory_utilization = small_number(values[4]);
    row.power_mw = milliwatts(values[5]);
    row.power_limit_mw = milliwatts(values[6]);
    row.memory_used_mib = number(values[7]);
    row.memory_total_mib = number(values[8]);
    row.clock_mhz = small_number(values[9]);
    row.ecc_errors = number(values[10]);
    row.pcie_width = small_number(values[11]);
    row.pci = tables.string(pci_of(values[12]));
  }
  while (!processes.empty()) {
    const auto values = cells(take_piece(processes, '\n'));
    const auto at = values.size() == 2 ? by_uuid.find(values[0]) : by_uuid.end();
    const std::int32_t pid = values.size() == 2 ? small_number(values[1]) : -1;
    if (at != by_uuid.end() && pid > 0 && rows[at->second].pids.size() < kMaxProcesses) {
      rows[at->second].pids.push_back(pid);
    }
  }
  each_clock(clocks, [&](std::string_view uuid, std::int64_t reasons) {
    if (const auto at = by_uuid.find(uuid); at != by_uuid.end()) {
      rows[at->second].clock_reasons = reasons;
    }
  });
  const auto add_nvlinks = [&](std::string_view answer, std::int64_t snapshot::Device::*sum) {
    each_nvlink_count(answer, [&](std::string_view uuid, std::int64_t errors) {
      if (const auto at = by_uuid.find(uuid); at != by_uuid.end()) {
        std::int64_t& count = rows[at->second].*sum;
        count = std::max<std::int64_t>(count, 0) + errors;
      }
    });
  };
  add_nvlinks(nvlinks, &snapshot::Device::nvlink_errors);
  add_nvlinks(nvlinks_later, &snapshot::Device::nvlink_errors_later);
  return rows;
}

}  // namespace oddrank::collectives
