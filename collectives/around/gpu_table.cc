#include "collectives/around/gpu_table.h"

#include <map>
#include <optional>

#include "base/parse_number.h"
#include "base/split.h"
#include "base/take_piece.h"

namespace oddrank::collectives {

namespace {

constexpr std::size_t kColumns = 12;
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

}  // namespace

bool has_clock_reasons(std::string_view clocks) {
  bool any = false;
  each_clock(clocks, [&any](std::string_view /*uuid*/, std::int64_t /*bits*/) { any = true; });
  return any;
}

std::vector<snapshot::Device> read_gpu_table(const GpuAnswers& answers, snapshot::Tables& tables) {
  auto [devices, processes, clocks] = answers;
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
  return rows;
}

}  // namespace oddrank::collectives
