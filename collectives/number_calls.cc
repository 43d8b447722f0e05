#include "collectives/number_calls.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/names/demangle.h"
#include "collectives/call_frames.h"
#include "collectives/call_table.h"
#include "collectives/group_join.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::collectives {

namespace {

using snapshot::CallKind;
using snapshot::Capture;
using snapshot::CollectiveCall;
using snapshot::GroupCounter;
using snapshot::ProcessCapture;
using snapshot::ProcessGroup;
using snapshot::ThreadCapture;

// Functions that only wait for a call, and one that the backends do not count.
constexpr std::array<std::string_view, 2> kNotNumbered = {"wait_tensor", "monitored_barrier"};

// With TORCH_DISTRIBUTED_DEBUG=DETAIL, a wrapper first compares the calls of all ranks, and passes
// them on afterwards: until then the backend has not counted the call.
constexpr std::string_view kComparison = "c10d::ProcessGroupWrapper::runCollectiveChecks";

// What the native frames inside a call show.
struct NativePart {
  bool waits = false;     // the call was made, and its end is awaited
  bool in_base = false;   // in c10d::Work::wait(), which works of devices override
  bool compares = false;  // the call will be made
  std::string_view backend;
};

NativePart native_part(const CallFrames& frames, std::size_t end) {
  NativePart part;
  for (std::size_t i = 0; i < end; ++i) {
    if (frames.is_python(i)) {
      continue;
    }
    const std::string name = short_name(frames.function(i));
    part.compares = part.compares || name.starts_with(kComparison);
    const bool of_work = name.starts_with("c10d::") && name.ends_with("::wait");
    part.in_base = part.in_base || name == "c10d::Work::wait";
    part.waits = part.waits || of_work || name.starts_with("c10d::ProcessGroupNCCL::WorkNCCL") ||
                 name.starts_with("c10d::nccl2::WorkNCCL") || name.starts_with("nccl");
    if (name.starts_with("c10d::ProcessGroupGloo")) {
      part.backend = "gloo";
    } else if (name.starts_with("c10d::nccl2::")) {
      part.backend = "nccl2";
    } else if (name.starts_with("c10d::ProcessGroupNCCL") || name.starts_with("nccl")) {
      part.backend = "nccl";
    }
  }
  return part;
}

// Returns the backend of the call: by the frames, or the only possible one in use; null if its
// count does not number collectives. A group often has two backends, gloo for tensors of the CPU
// and NCCL for tensors of GPUs.
const GroupCounter* counter_of(const ProcessGroup& group,
                               const NativePart& part,
                               const snapshot::Tables& tables) {
  const GroupCounter* found = nullptr;
  for (const GroupCounter& counter : group.counters) {
    const std::string_view backend = tables.text(counter.backend);
    const bool other = !part.backend.empty() && group.counters.size() > 1 && !part.compares &&
                       backend != part.backend;
    const bool elsewhere =
        part.backend.empty() && part.in_base && snapshot::is_device_backend(backend);
    if (other || elsewhere || counter.collectives < (part.compares ? 0 : 1)) {
      continue;
    }
    if (found != nullptr) {
      return nullptr;
    }
    found = &counter;
  }
  return found == nullptr || found->mixed ? nullptr : found;
}

// Returns where the Python function of the call is among the frames; their number if it is not.
std::size_t index_of_call(const CallFrames& frames, std::string_view op) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const PythonCall* call =
        frames.is_python(i) ? find_python_call(frames.function(i), frames.file(i)) : nullptr;
    if (call != nullptr && call->function == op) {
      return i;
    }
  }
  return frames.size();
}

bool is_same_group(const CollectiveCall& a, const CollectiveCall& b) {
  return a.whole_world == b.whole_world && a.group == b.group;
}

bool has_group(const CollectiveCall& call) {
  return call.whole_world || call.group != snapshot::StringId{};
}

// Returns whether a thread of the process may have made a newer call in that group.
bool others_call(const ProcessCapture& process, const ThreadCapture& thread) {
  return std::any_of(process.threads.begin(), process.threads.end(), [&](const auto& other) {
    return &other != &thread && other.has_python && other.call &&
           (!has_group(*other.call) || is_same_group(*other.call, *thread.call));
  });
}

void number_call(const ProcessCapture& process, ThreadCapture& thread, snapshot::Tables& tables) {
  CollectiveCall& call = *thread.call;
  const std::string_view op = tables.text(call.op);
  const ProcessGroup* group = group_of_call(process, call);
  if (group == nullptr ||
      std::find(kNotNumbered.begin(), kNotNumbered.end(), op) != kNotNumbered.end() ||
      others_call(process, thread)) {
    return;
  }
  const CallFrames frames(thread, tables, false);
  const CallFrames apart(thread, tables, true);
  const bool merged = apart.size() == 0;
  const std::size_t index = index_of_call(merged ? frames : apart, op);
  if (index == (merged ? frames : apart).size()) {
    return;
  }
  const NativePart part = native_part(frames, merged ? index : frames.size());
  const GroupCounter* counter = counter_of(*group, part, tables);
  if ((!part.waits && !part.compares) || counter == nullptr) {
    return;
  }
  call.sequence = counter->collectives + (part.compares ? 1 : 0);
  call.evidence = tables.string(std::string(tables.text(call.evidence)) + ", #" +
                                std::to_string(call.sequence) + " by the group's own count");
}

}  // namespace

const ProcessGroup* group_of_call(const ProcessCapture& process, const CollectiveCall& call) {
  return snapshot::find_group_of(process.groups, call);
}

void number_calls(ProcessCapture& process, snapshot::Tables& tables) {
  for (ThreadCapture& thread : process.threads) {
    if (thread.call && thread.call->kind == CallKind::kCollective && thread.call->sequence < 0) {
      number_call(process, thread, tables);
    }
  }
}

namespace {

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
