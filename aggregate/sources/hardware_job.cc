#include "aggregate/sources/hardware_job.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate/evidence/odd_devices.h"
#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

using snapshot::Device;
using snapshot::LinkPort;

constexpr std::size_t kMaxPlaces = 6;  // places that a sentence lists

// Returns "GPU 0-3 on n0, GPU 1 on n1".
std::string places(const JobView& view, const std::vector<const Device*>& devices) {
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

// Returns the GPUs of which `odd` is true.
std::vector<const Device*> devices_that(const JobView& view, bool (*odd)(const Device&)) {
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
    const bool active = view.text(port.state) == "ACTIVE";
    const bool others = std::ranges::any_of(ports, [&](const LinkPort& other) {
      return other.node == port.node && view.text(other.state) == "ACTIVE";
    });
    if (active || !others || port.link_downed <= 0 || ++found > kMaxPlaces) {
      continue;
    }
    text +=
        fmt::format("{}{} port {} on {} is {} ({})", text.empty() ? "" : ", ",
                    printable(view.text(port.device), 40), port.port, view.host(port.node),
                    printable(view.text(port.state), 40), printable(view.text(port.physical), 40));
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
        places(view, spinning), ranks_on(view, spinning), first.utilization, first.power_mw / 1000,
        first.power_limit_mw / 1000));
  }
  const auto has_errors = [](const Device& device) { return device.ecc_errors > 0; };
  if (const auto broken = devices_that(view, has_errors); !broken.empty()) {
    sentences.push_back(fmt::format("{}{}: memory errors that could not be corrected",
                                    places(view, broken), ranks_on(view, broken)));
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
