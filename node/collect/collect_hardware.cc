#include "node/collect/collect_hardware.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/isolated.h"
#include "base/split.h"
#include "collectives/around/gpu_table.h"
#include "collectives/around/link_ports.h"
#include "node/isolated_read.h"
#include "snapshot/carrier.h"
#include "waits/node/kernel_log.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using std::chrono::milliseconds;

// Without its daemon nvidia-smi takes seconds on a node of eight.
constexpr milliseconds kHardwarePatience{5000};
constexpr milliseconds kLaterPatience{2000};  // nothing else is left to do meanwhile
constexpr const char* kTool = "nvidia-smi";
constexpr const char* kDriver = "/proc/driver/nvidia";
constexpr const char* kPorts = "/sys/class/infiniband";

// Returns the path of nvidia-smi; "" if there is none.
std::string find_tool() {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    std::string file = std::string(folder) + "/" + kTool;
    if (folder.starts_with('/') && ::access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return {};
}

// The child executes the tool, so a run that misses its deadline is killed like any other.
IsolatedTask run_tool(const std::string& tool,
                      const std::string& question,
                      const std::string& option = "--format=csv,noheader,nounits",
                      milliseconds patience = kHardwarePatience) {
  return {[tool, question, option](int fd) {
            ::dup2(fd, STDOUT_FILENO);
            const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
            ::dup2(nothing, STDIN_FILENO);
            ::dup2(nothing, STDERR_FILENO);
            ::execl(tool.c_str(), kTool, question.c_str(), option.c_str(),
                    static_cast<char*>(nullptr));
            ::_exit(127);
          },
          patience,
          {.programs = true}};
}

std::string trouble(const IsolatedResult& result) {
  switch (result.end) {
    case IsolatedEnd::kDeadline:
      return "it did not answer in " + std::to_string(kHardwarePatience.count() / 1000) + " s";
    case IsolatedEnd::kCrashed:
      return result.signal != 0 ? "it was ended by signal " + std::to_string(result.signal)
                                : "it failed";
    default:
      return {};
  }
}

IsolatedTask ask(const std::string& tool, std::string_view fields) {
  return run_tool(tool, "--query-gpu=" + std::string(fields));
}

IsolatedTask ask_nvlinks(const std::string& tool, milliseconds patience) {
  return run_tool(tool, "nvlink", "-e", patience);
}

void add_gpus(const std::string& tool, std::vector<PendingTask>& pending, Capture& capture) {
  const IsolatedResult devices = pending[0].finish();
  const IsolatedResult processes = pending[1].finish();
  IsolatedResult clocks = pending[2].finish();
  const IsolatedResult nvlinks = pending[3].finish();
  // Links that never had an error have none now; so the tool, which takes long, runs again only for
  // those that had.
  std::optional<PendingTask> later;
  if (collectives::has_nvlink_errors(nvlinks.bytes)) {
    later.emplace(ask_nvlinks(tool, kLaterPatience));
  }
  if (clocks.end != IsolatedEnd::kDeadline && trouble(devices).empty() &&
      !collectives::has_clock_reasons(clocks.bytes)) {
    clocks = PendingTask(ask(tool, collectives::kOldGpuClockFields)).finish();
  }
  if (const std::string why = trouble(devices); !why.empty()) {
    capture.nodes.front().notes.push_back(std::string(kTool) + ": " + why);
  }
  // What was printed before the deadline counts.
  const std::string nvlinks_later = later ? later->finish().bytes : std::string();
  capture.collectives.devices = collectives::read_gpu_table(
      {devices.bytes, processes.bytes, clocks.bytes, nvlinks.bytes, nvlinks_later}, capture.tables);
}

PendingTask read_ports() {
  return PendingTask(IsolatedTask{[](int fd) {
                                    Capture answer;
                                    answer.nodes.emplace_back();
                                    answer.collectives.ports =
                                        collectives::read_link_ports(kPorts, answer.tables);
                                    send_capture(fd, std::move(answer));
                                  },
                                  kHardwarePatience});
}

void add_ports(PendingTask& pending, Capture& capture) {
  const auto answer = received_capture(pending.finish());
  if (!answer) {
    capture.nodes.front().notes.push_back(std::string(kPorts) + ": " + answer.error().what);
    return;
  }
  snapshot::Carrier carrier(answer->tables, capture.tables);
  for (const snapshot::LinkPort& port : answer->collectives.ports) {
    capture.collectives.ports.push_back(carrier.row(port));
  }
  if (capture.collectives.ports.empty()) {
    return;
  }
  if (const auto later = received_capture(read_ports().finish())) {
    collectives::add_later_counts(*later, capture);
  }
}

}  // namespace

HardwareReading::HardwareReading() {
  if (tool_ = find_tool(); !tool_.empty()) {
    gpus_.emplace_back(ask(tool_, collectives::kGpuFields));
    gpus_.emplace_back(
        run_tool(tool_, "--query-compute-apps=" + std::string(collectives::kGpuProcessFields)));
    gpus_.emplace_back(ask(tool_, collectives::kGpuClockFields));
    gpus_.emplace_back(ask_nvlinks(tool_, kHardwarePatience));
  }
  if (::access(kPorts, R_OK) == 0) {
    ports_.emplace(read_ports());
  }
}

void HardwareReading::add_to(Capture& capture) {
  if (!gpus_.empty()) {
    add_gpus(tool_, gpus_, capture);
  }
  if (!gpus_.empty() || ::access(kDriver, F_OK) == 0) {
    waits::add_gpu_errors(capture);
  }
  if (ports_) {
    add_ports(*ports_, capture);
  }
}

}  // namespace oddrank::node
