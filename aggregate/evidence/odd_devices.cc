#include "aggregate/evidence/odd_devices.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::Device;
using snapshot::LinkPort;

namespace {

constexpr std::size_t kLeastOthers = 2;

// A number of a GPU, and by how much it must differ from the others'.
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

// Reasons why a GPU is slowed down, as bits of NVML. Idleness, settings and the power limit lower
// the clocks of a healthy one, and are not among these.
struct Slowdown {
  std::int64_t bit = 0;
  std::string_view words;
};

constexpr Slowdown kSlowdowns[] = {
    {0x40, "hardware thermal slowdown"},
    {0x80, "hardware power brake"},
    {0x20, "software thermal slowdown"},
    {0x08, "hardware slowdown"},  // set beside the first two as well
};

// Returns "" if nothing slows it down, or that is not known.
std::string_view slowdown_of(const Device& gpu) {
  for (const Slowdown& slowdown : kSlowdowns) {
    if (gpu.clock_reasons > 0 && (gpu.clock_reasons & slowdown.bit) != 0) {
      return slowdown.words;
    }
  }
  return {};
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
  const auto runs_free = [](const Device* gpu) {
    return gpu->clock_reasons >= 0 && slowdown_of(*gpu).empty();
  };
  const std::string_view slowdown = slowdown_of(*own);
  return !slowdown.empty() && std::ranges::all_of(others, runs_free)
             ? fmt::format("GPU {} is slowed down ({}), and no other is", own->index, slowdown)
             : std::string();
}

namespace {

bool is_up(const JobView& view, const LinkPort& port) {
  return view.text(port.state) == "ACTIVE";
}

// Returns whether the port has counted errors while all others of the job are up and have none.
bool only_it_counts(const JobView& view,
                    const LinkPort& own,
                    std::int64_t (*count)(const LinkPort&)) {
  const auto& ports = view.capture().collectives.ports;
  return count(own) > 0 && ports.size() > kLeastOthers &&
         std::ranges::all_of(ports, [&](const LinkPort& port) {
           return &port == &own || (is_up(view, port) && count(port) == 0);
         });
}

std::int64_t errors_before(const LinkPort& port) {
  return port.errors;
}

// Returns "is DOWN (Polling)".
std::string state_of_port(const JobView& view, const LinkPort& port) {
  return fmt::format("is {} ({})", printable(view.text(port.state), 40),
                     printable(view.text(port.physical), 40));
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
  if (!is_up(view, *own)) {
    return fmt::format("{} {}", name, state_of_port(view, *own));
  }
  if (std::string now = new_errors(view, *own); !now.empty()) {
    return now;
  }
  return only_it_counts(view, *own, errors_before)
             ? fmt::format("{} counts {}, and no other port does", name,
                           count_of(static_cast<std::size_t>(own->errors), "error"))
             : std::string();
}

namespace {

constexpr std::size_t kMaxPlaces = 6;  // places that a sentence lists

// Returns "GPU 0-3 on n0, GPU 1 on n1".
std::string device_places(const JobView& view, const std::vector<const Device*>& devices) {
  std::map<std::uint32_t, std::vector<std::int32_t>> by_node;
  for (const Device* device : devices) {
    by_node[device->node].push_back(device->index);
  }
  std::string text;
  std::size_t shown = 0;
  for (const auto& [node, indices] : by_node) {
    if (++shown > kMaxPlaces) {
      return text + fmt::format(" and on {}", count_of(by_node.size() - kMaxPlaces, "more node"));
    }
    text += fmt::format("{}GPU {} on {}", text.empty() ? "" : ", ", format_ranks(indices),
                        view.host(node));
  }
  return text;
}

// Returns the ranks with a context on one of them.
std::string ranks_on(const JobView& view, const std::vector<const Device*>& devices) {
  std::set<std::int32_t> ranks;
  for (const Device* device : devices) {
    for (const pid_t pid : device->pids) {
      const auto* process = view.process(device->node, pid);
      if (process != nullptr && process->is_rank && process->rank >= 0) {
        ranks.insert(process->rank);
      }
    }
  }
  if (ranks.empty()) {
    return {};
  }
  return " (" + ranks_phrase({ranks.begin(), ranks.end()}) + ")";
}

// Returns the GPUs for which `odd` is true.
template <typename Odd>
std::vector<const Device*> devices_that(const JobView& view, const Odd& odd) {
  std::vector<const Device*> devices;
  for (const Device& device : view.capture().collectives.devices) {
    if (odd(device)) {
      devices.push_back(&device);
    }
  }
  return devices;
}

// Adds ports that are down. A port without a cable is down as well: a port counts only if it was up
// before, and if others of its node are up.
void add_ports(const JobView& view, std::vector<std::string>& sentences) {
  const auto& ports = view.capture().collectives.ports;
  std::string text;
  std::size_t found = 0;
  for (const LinkPort& port : ports) {
    const bool others = std::ranges::any_of(ports, [&](const LinkPort& other) {
      return other.node == port.node && is_up(view, other);
    });
    if (is_up(view, port) || !others || port.link_downed <= 0 || ++found > kMaxPlaces) {
      continue;
    }
    text += fmt::format("{}{} port {} on {} {}", text.empty() ? "" : ", ",
                        printable(view.text(port.device), 40), port.port, view.host(port.node),
                        state_of_port(view, port));
  }
  if (found > kMaxPlaces) {
    text += fmt::format(" and {}", count_of(found - kMaxPlaces, "more port"));
  }
  if (!text.empty()) {
    sentences.push_back(std::move(text));
  }
}

}  // namespace

bool spins(const Device& device) {
  constexpr std::int32_t kBusy = 95;
  constexpr std::int32_t kNoTraffic = 5;
  return device.utilization >= kBusy && device.memory_utilization >= 0 &&
         device.memory_utilization <= kNoTraffic && device.power_mw > 0 &&
         device.power_limit_mw > 0 && device.power_mw * 5 < device.power_limit_mw * 2;
}

std::vector<std::string> device_sentences(const JobView& view) {
  std::vector<std::string> sentences;
  if (const auto spinning = devices_that(view, spins); !spinning.empty()) {
    const Device& first = *spinning.front();
    sentences.push_back(fmt::format(
        "{}{}: {} % busy at {} of {} W with no memory traffic, as a collective that waits for its "
        "peers: it spins, it does not work",
        device_places(view, spinning), ranks_on(view, spinning), first.utilization,
        first.power_mw / 1000, first.power_limit_mw / 1000));
  }
  const auto has_errors = [](const Device& device) { return device.ecc_errors > 0; };
  if (const auto broken = devices_that(view, has_errors); !broken.empty()) {
    sentences.push_back(fmt::format("{}{}: memory errors that could not be corrected",
                                    device_places(view, broken), ranks_on(view, broken)));
  }
  for (const Slowdown& slowdown : kSlowdowns) {
    const auto slowed = devices_that(
        view, [&](const Device& device) { return slowdown_of(device) == slowdown.words; });
    if (!slowed.empty()) {
      sentences.push_back(fmt::format("{}{}: slowed down ({})", device_places(view, slowed),
                                      ranks_on(view, slowed), slowdown.words));
    }
  }
  add_ports(view, sentences);
  for (const LinkPort& port : view.capture().collectives.ports) {
    if (const std::string words = new_errors(view, port); !words.empty()) {
      sentences.push_back(view.host(port.node) + ": " + words);
    }
  }
  return sentences;
}

}  // namespace oddrank::aggregate
