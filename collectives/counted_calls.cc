#include "collectives/counted_calls.h"

#include <algorithm>
#include <string>

#include "collectives/group_join.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::collectives {
namespace {

using snapshot::Capture;
using snapshot::CollectiveCall;
using snapshot::GroupCounter;
using snapshot::ProcessCapture;
using snapshot::ProcessGroup;

bool is_recorded(const Capture& capture, const ProcessCapture& process) {
  const auto& records = capture.collectives.flight;
  return std::any_of(records.begin(), records.end(), [&](const snapshot::FlightRecord& record) {
    return record.rank == process.rank;
  });
}

struct Counted {
  const ProcessGroup* group = nullptr;
  std::int64_t newest = -1;
};

// Returns the only group that has been given calls for devices; none if there are several, or if
// one of them has been given transfers.
Counted only_counted(const ProcessCapture& process, const snapshot::Tables& tables) {
  Counted found;
  for (const ProcessGroup& group : process.groups) {
    for (const GroupCounter& counter : group.counters) {
      if (!snapshot::is_device_backend(tables.text(counter.backend)) ||
          (counter.collectives <= 0 && counter.transfers <= 0)) {
        continue;
      }
      if (found.group != nullptr || counter.mixed || counter.transfers > 0) {
        return {};
      }
      found = {&group, counter.collectives};
    }
  }
  return found;
}

void add_counted_call(ProcessCapture& process, snapshot::Tables& tables) {
  const Counted counted = only_counted(process, tables);
  if (counted.group == nullptr) {
    return;
  }
  CollectiveCall call;
  GroupJoin(process.groups, tables).fill(*counted.group, call);
  call.sequence = counted.newest;
  call.evidence =
      tables.string("the thread waits for its device, and #" + std::to_string(counted.newest) +
                    " is the newest call by the group's own count");
  process.threads.front().call = call;
}

}  // namespace

void add_counted_calls(Capture& capture) {
  for (ProcessCapture& process : capture.processes) {
    const bool in_call = std::any_of(process.threads.begin(), process.threads.end(),
                                     [](const auto& thread) { return thread.call.has_value(); });
    if (process.is_rank && !process.threads.empty() && !in_call &&
        process.threads.front().tid == process.pid &&
        process.threads.front().wait.on == snapshot::WaitOn::kDevice &&
        !is_recorded(capture, process)) {
      add_counted_call(process, capture.tables);
    }
  }
}

}  // namespace oddrank::collectives
