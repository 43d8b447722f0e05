#include "aggregate/evidence/odd_devices.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/few_notes.h"
#include "base/printable.h"
#include "base/span_words.h"
#include "snapshot/devices/xid_errors.h"
#include "snapshot/libraries/known_libraries.h"

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

constexpr std::size_t kMaxDriverWords = 120;

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

// Return how many errors a port, or the links of a GPU, have counted until this capture (before),
// or during it (within); -1: not known.
std::int64_t errors_before(const LinkPort& port) {
  return port.errors;
}

std::int64_t errors_within(const LinkPort& port) {
  return port.errors < 0 || port.errors_later < port.errors ? -1 : port.errors_later - port.errors;
}

std::int64_t nvlink_errors_before(const Device& gpu) {
  return gpu.nvlink_errors;
}

// Those of links that never had an error were not read again (collect_hardware.cc).
std::int64_t nvlink_errors_within(const Device& gpu) {
  return gpu.nvlink_errors == 0 ? 0
         : gpu.nvlink_errors_later < gpu.nvlink_errors
             ? -1
             : gpu.nvlink_errors_later - gpu.nvlink_errors;
}

// Returns whether it has counted errors, while all others of the job, two or more, have none.
template <typename Row>
bool only_it_counts(const std::vector<Row>& rows,
                    const Row& own,
                    std::int64_t (*count)(const Row&)) {
  return count(own) > 0 && rows.size() > kLeastOthers &&
         std::ranges::all_of(rows, [&](const Row& row) { return &row == &own || count(row) == 0; });
}

std::string errors_words(std::int64_t errors) {
  return count_of(static_cast<std::size_t>(errors), "error");
}

// Returns "GPU 3 counts 412 errors of its NVLinks, and no other does"; "" if another
// one has some, too, or none has any.
std::string odd_nvlinks(const JobView& view, const Device& gpu) {
  const auto& gpus = view.capture().collectives.devices;
  if (only_it_counts(gpus, gpu, nvlink_errors_within)) {
    return fmt::format(
        "GPU {} has counted {} of its NVLinks within this capture, and no other has any", gpu.index,
        errors_words(nvlink_errors_within(gpu)));
  }
  return only_it_counts(gpus, gpu, nvlink_errors_before)
             ? fmt::format("GPU {} counts {} of its NVLinks, and no other does", gpu.index,
                           errors_words(gpu.nvlink_errors))
             : std::string();
}

// Returns "had an error 41 s ago: Xid 79 (the GPU has fallen off the bus)".
std::string xid_words(const JobView& view, const Device& gpu) {
  const auto [fault, words] = snapshot::meaning_of_xid(gpu.xid);
  return fmt::format(
      "had an error {} ago: Xid {}", span_words(std::chrono::seconds(gpu.xid_ago_s)),
      words.empty()
          ? printable(view.text(gpu.xid_text), kMaxDriverWords)
          : fmt::format("{} ({}{})", gpu.xid, words,
                        fault == snapshot::XidFault::kProgram ? "; usually the program's" : ""));
}

// Returns whether its error (Xid) points to the device more than any of the others'.
bool has_odd_xid(const Device& own, const std::vector<const Device*>& others) {
  const auto fault = [](const Device& gpu) { return snapshot::meaning_of_xid(gpu.xid).fault; };
  return own.xid > 0 && std::ranges::all_of(others, [&](const Device* other) {
           return other->xid == 0 || (other->xid > 0 && fault(*other) < fault(own));
         });
}

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
  if (has_odd_xid(*own, others)) {
    return fmt::format("GPU {} {}", own->index, xid_words(view, *own));
  }
  if (std::string words = odd_nvlinks(view, *own); !words.empty()) {
    return words;
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

std::size_t rank_of_failed_gpu(const JobView& view, const std::vector<std::size_t>& ranks) {
  std::size_t failed = JobView::kNone;
  for (const std::size_t at : ranks) {
    const snapshot::ProcessCapture* process = view.rank(at).process;
    const auto& gpus = view.capture().collectives.devices;
    const bool fails = view.rank(at).presence == Presence::kRead && process != nullptr &&
                       std::ranges::any_of(gpus, [process](const Device& gpu) {
                         return is_on(gpu, *process) && snapshot::meaning_of_xid(gpu.xid).fault ==
                                                            snapshot::XidFault::kDevice;
                       });
    if (fails && failed != JobView::kNone) {
      return JobView::kNone;
    }
    failed = fails ? at : failed;
  }
  return failed;
}

std::string failed_gpu_words(const JobView& view) {
  std::vector<std::size_t> all(view.ranks().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::size_t failed = rank_of_failed_gpu(view, all);
  return failed == JobView::kNone
             ? ""
             : fmt::format("; of all GPUs only that of {} has failed: {}",
                           JobView::name(view.rank(failed)), odd_gpu(view, failed));
}

namespace {

bool is_up(const JobView& view, const LinkPort& port) {
  return view.text(port.state) == "ACTIVE";
}

bool others_are_up(const JobView& view, const LinkPort& own) {
  return std::ranges::all_of(view.capture().collectives.ports, [&](const LinkPort& port) {
    return &port == &own || is_up(view, port);
  });
}

// Returns "is DOWN (Polling)".
std::string state_of_port(const JobView& view, const LinkPort& port) {
  return fmt::format("is {} ({})", printable(view.text(port.state), 40),
                     printable(view.text(port.physical), 40));
}

}  // namespace

std::string new_errors(const JobView& view, const LinkPort& port) {
  return others_are_up(view, port) &&
                 only_it_counts(view.capture().collectives.ports, port, errors_within)
             ? fmt::format("{} has counted {} within this capture, and no other port has any",
                           printable(view.text(port.device), 40), errors_words(errors_within(port)))
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
  return others_are_up(view, *own) && only_it_counts(ports, *own, errors_before)
             ? fmt::format("{} counts {}, and no other port does", name, errors_words(own->errors))
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

// Adds what the driver has reported of GPUs, and errors of NVLinks that only one has.
void add_gpu_errors(const JobView& view, std::vector<std::string>& sentences) {
  std::set<std::string> reported;  // in an order that does not depend on that of the nodes
  for (const Device& gpu : view.capture().collectives.devices) {
    const std::string place = device_places(view, {&gpu}) + ranks_on(view, {&gpu});
    if (gpu.xid > 0) {
      reported.insert(place + " " + xid_words(view, gpu));
    }
    if (const std::string odd = odd_nvlinks(view, gpu); !odd.empty()) {
      sentences.push_back(view.host(gpu.node) + ": " + odd);
    }
  }
  FewNotes few(kMaxPlaces, "GPUs with errors");
  for (const std::string& words : reported) {
    few.add(words);
  }
  for (std::string& words : few.take()) {
    sentences.push_back(std::move(words));
  }
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

bool waits_for_amds_gpu(const JobView& view, const RankView& rank) {
  if (rank.decider == nullptr || rank.decider->samples.empty()) {
    return false;
  }
  const auto frames = view.model().all_frames(rank.decider->samples.back());
  return std::ranges::any_of(frames, [&view](snapshot::FrameId id) {
    const std::string_view file = view.text(view.capture().tables.frame(id).file);
    return snapshot::library_of(file) == snapshot::Library::kRocm ||
           file.find("libamdhip64") != std::string_view::npos;
  });
}

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
  add_gpu_errors(view, sentences);
  add_ports(view, sentences);
  for (const LinkPort& port : view.capture().collectives.ports) {
    if (const std::string words = new_errors(view, port); !words.empty()) {
      sentences.push_back(view.host(port.node) + ": " + words);
    }
  }
  return sentences;
}

}  // namespace oddrank::aggregate
