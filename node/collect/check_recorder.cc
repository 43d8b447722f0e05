#include "node/collect/check_recorder.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "collectives/torch/process_group.h"
#include "node/collect/collect_recorders.h"

namespace oddrank::node {
namespace {

using snapshot::Answer;
using snapshot::Capture;
using snapshot::Check;
using snapshot::ProcessCapture;

// Releases of PyTorch, as torch_version_number has them.
constexpr int kGlooRecords = 208;  // gloo has a recorder, and the variable its newer name
constexpr int kRecordsByDefault = 211;

const ProcessCapture* first_with_groups(const Capture& capture) {
  const auto at =
      std::find_if(capture.processes.begin(), capture.processes.end(),
                   [](const ProcessCapture& one) { return one.is_rank && !one.groups.empty(); });
  return at == capture.processes.end() ? nullptr : &*at;
}

Check numbers_check(const ProcessCapture* rank) {
  if (rank == nullptr) {
    return {"numbers", Answer::kOff, "no process group yet", ""};
  }
  const auto counting = std::count_if(rank->groups.begin(), rank->groups.end(),
                                      [](const auto& group) { return !group.counters.empty(); });
  const std::string of = std::to_string(counting) + " of " + std::to_string(rank->groups.size());
  return counting > 0 ? Check{"numbers", Answer::kYes, of + " groups count their calls", ""}
                      : Check{"numbers", Answer::kOff, "the groups' counts cannot be read", ""};
}

RecorderOutlook outlook_of(const Capture& capture, const ProcessCapture& rank) {
  RecorderOutlook outlook;
  for (const auto& [name, value] : rank.setup) {
    if (capture.tables.text(name) == "PyTorch") {
      outlook.version = collectives::torch_version_number(capture.tables.text(value));
    }
  }
  for (const auto& group : rank.groups) {
    outlook.nccl =
        outlook.nccl || capture.tables.text(group.backend).find("nccl") != std::string_view::npos;
  }
  for (const auto& [name, value] : rank.environment) {
    const std::string_view variable = capture.tables.text(name);
    if (variable == "TORCH_FR_BUFFER_SIZE" || variable == "TORCH_NCCL_TRACE_BUFFER_SIZE") {
      outlook.variable = variable;
      outlook.value = capture.tables.text(value);
    }
  }
  return outlook;
}

}  // namespace

Check recorder_outlook(const RecorderOutlook& outlook) {
  const std::string torch = outlook.version == 0
                                ? "PyTorch"
                                : "torch " + collectives::torch_version_text(outlook.version);
  if (outlook.value == "0") {
    return {"recorder", Answer::kOff, outlook.variable + "=0",
            "PyTorch's flight recorder shows which call a rank left out: do not switch it off"};
  }
  if (outlook.version != 0 && outlook.version < kGlooRecords && !outlook.nccl) {
    return {"recorder", Answer::kOff, "gloo of " + torch + " has none", ""};
  }
  if (outlook.version >= kRecordsByDefault) {
    return {"recorder", Answer::kYes, torch + " keeps 2000 calls, none so far", ""};
  }
  if (!outlook.value.empty()) {
    return {"recorder", Answer::kYes, torch + " keeps " + outlook.value + " calls, none so far",
            ""};
  }
  if (outlook.version == 0) {
    return {"recorder", Answer::kOff, "the release of PyTorch is not known", ""};
  }
  const std::string name =
      outlook.version >= kGlooRecords ? "TORCH_FR_BUFFER_SIZE" : "TORCH_NCCL_TRACE_BUFFER_SIZE";
  return {"recorder", Answer::kOff, torch + " keeps no calls unless told",
          "PyTorch's flight recorder shows which call a rank left out: export " + name +
              "=2000 before the job starts"};
}

std::vector<Check> check_calls(Capture& capture, std::chrono::milliseconds timeout) {
  const ProcessCapture* rank = first_with_groups(capture);
  std::vector<Check> checks = {numbers_check(rank)};
  if (rank == nullptr) {
    checks.push_back({"recorder", Answer::kOff, "no process group yet", ""});
    return checks;
  }
  const RecorderOutlook outlook = outlook_of(capture, *rank);
  const auto ranks = std::count_if(
      capture.processes.begin(), capture.processes.end(),
      [](const auto& one) { return one.is_rank && one.rank >= 0 && !one.groups.empty(); });
  RecorderSearch search(capture, timeout);
  collect_recorders(capture, search, 1, timeout);
  const std::size_t recorded = capture.collectives.flight.size();
  checks.push_back(recorded > 0 ? Check{"recorder", Answer::kYes,
                                        "calls in the memory of " + std::to_string(recorded) +
                                            " of " + std::to_string(ranks) + " ranks",
                                        ""}
                                : recorder_outlook(outlook));
  return checks;
}

}  // namespace oddrank::node
