#include "aggregate/evidence/odd_devices.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::Device;
using snapshot::LinkPort;

namespace {

constexpr std::size_t kLeastOthers = 2;

// A number of a GPU, and by how much one must differ from all others.
struct Measure {
  std::int64_t (*value)(const Device&);
  std::int64_t least_difference = 0;
  std::int64_t least_ratio = 1;  // between the two
  std::string_view verb;
  std::string_view unit;
  std::int64_t per_unit = 1;
};

constexpr Measure kMeasures[] = {
    {[](const Device& gpu) -> std::int64_t { return gpu.utilization; }, 50, 1, "is", "% busy"},
    {[](const Device& gpu) { return gpu.power_mw; }, 50'000, 2, "draws", "W", 1000},
    {[](const Device& gpu) -> std::int64_t { return gpu.clock_mhz; }, 300, 2, "runs at", "MHz"},
    {[](const Device& gpu) -> std::int64_t { return gpu.pcie_width; }, 1, 2, "has", "PCIe lanes"},
};

bool is_on(const Device& gpu, const snapshot::ProcessCapture& process) {
  return gpu.node == process.node && std::ranges::find(gpu.pids, process.pid) != gpu.pids.end();
}

std::string odd_measure(const Device& own,
                        const std::vector<const Device*>& others,
                        const Measure& measure) {
  const std::int64_t value = measure.value(own);
  std::vector<std::int64_t> rest;
  rest.reserve(others.size());
  for (const Device* other : others) {
    rest.push_back(measure.value(*other));
  }
  const auto [least, most] = std::ranges::minmax_element(rest);
  if (value < 0 || *least < 0) {
    return {};
  }
  const auto apart = [&measure](std::int64_t low, std::int64_t high) {
    return high - low >= measure.least_difference && high >= low * measure.least_ratio;
  };
  if (!apart(value, *least) && !apart(*most, value)) {
    return {};
  }
  std::string range = std::to_string(*least / measure.per_unit);
  if (*most != *least) {
    range += fmt::format(" to {}", *most / measure.per_unit);
  }
  return fmt::format("GPU {} {} {} {} (the others {})", own.index, measure.verb,
                     value / measure.per_unit, measure.unit, range);
}

}  // namespace

std::string odd_gpu(const JobView& view, std::size_t rank) {
  const snapshot::ProcessCapture* process = view.rank(rank).process;
  const Device* own = nullptr;
  std::vector<const Device*> others;
  for (const Device& gpu : view.capture().collectives.devices) {
    const bool of_rank = std::ranges::any_of(view.ranks(), [&gpu](const RankView& one) {
      return one.process != nullptr && is_on(gpu, *one.process);
    });
    if (process != nullptr && is_on(gpu, *process)) {
      own = &gpu;
    } else if (of_rank) {
      others.push_back(&gpu);
    }
  }
  if (own == nullptr || others.size() < kLeastOthers) {
    return {};
  }
  for (const Measure& measure : kMeasures) {
    if (std::string words = odd_measure(*own, others, measure); !words.empty()) {
      return words;
    }
  }
  return {};
}

namespace {

// Returns whether the port has counted some, and all others of the job are up and have counted
// none.
bool only_it_counts(const JobView& view,
                    const LinkPort& own,
                    std::int64_t (*count)(const LinkPort&)) {
  const auto& ports = view.capture().collectives.ports;
  return count(own) > 0 && ports.size() > kLeastOthers &&
         std::ranges::all_of(ports, [&](const LinkPort& port) {
           return &port == &own || (view.text(port.state) == "ACTIVE" && count(port) == 0);
         });
}

std::int64_t errors_before(const LinkPort& port) {
  return port.errors;
}

// -1: not known.
std::int64_t errors_within(const LinkPort& port) {
  return port.errors < 0 || port.errors_later < port.errors ? -1 : port.errors_later - port.errors;
}

}  // namespace

std::string new_errors(const JobView& view, const LinkPort& port) {
  return only_it_counts(view, port, errors_within)
             ? fmt::format("{} has counted {} within this capture, and no other port has any",
                           printable(view.text(port.device), 40),
                           count_of(static_cast<std::size_t>(errors_within(port)), "error"))
             : std::string();
}

std::string odd_port(const JobView& view, std::uint32_t node, std::string_view device) {
  const auto& ports = view.capture().collectives.ports;
  const auto own = std::ranges::find_if(ports, [&](const LinkPort& port) {
    return port.node == node && view.text(port.device) == device;
  });
  if (own == ports.end()) {
    return {};
  }
  const std::string name = printable(device, 40);
  if (view.text(own->state) != "ACTIVE") {
    return fmt::format("{} is {} ({})", name, printable(view.text(own->state), 40),
                       printable(view.text(own->physical), 40));
  }
  if (std::string now = new_errors(view, *own); !now.empty()) {
    return now;
  }
  return only_it_counts(view, *own, errors_before)
             ? fmt::format("{} counts {}, and no other port does", name,
                           count_of(static_cast<std::size_t>(own->errors), "error"))
             : std::string();
}

}  // namespace oddrank::aggregate
