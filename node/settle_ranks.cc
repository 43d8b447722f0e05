#include "node/settle_ranks.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include "base/base_name.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::ProcessCapture;
using snapshot::Tables;
using snapshot::ThreadCapture;

constexpr std::size_t kNobody = ~std::size_t{0};

bool has_default_group(const ProcessCapture& process) {
  return std::any_of(process.groups.begin(), process.groups.end(),
                     [](const snapshot::ProcessGroup& group) { return group.is_default; });
}

// Mangled names: "_ZN4gloo9transport3tcp4Loop3runEv", "_ZN4c10d16ProcessGroupNCCL...".
bool is_of_backend(const Frame& frame, const Tables& tables) {
  if (frame.kind != FrameKind::kNative) {
    return false;
  }
  const std::string_view function = tables.text(frame.function);
  return function.find("4gloo") != std::string_view::npos ||
         function.find("4c10d") != std::string_view::npos ||
         base_name(tables.text(frame.file)).starts_with("libnccl");
}

// Returns whether a thread other than the main one runs inside of a communication library.
bool has_backend_thread(const ProcessCapture& process, const Tables& tables) {
  return std::any_of(
      process.threads.begin(), process.threads.end(), [&](const ThreadCapture& each) {
        if (each.tid == process.pid || each.samples.empty()) {
          return false;
        }
        const auto& frames = tables.stack(each.samples.back().stack).frames;
        return std::any_of(frames.begin(), frames.end(), [&](const snapshot::FrameId id) {
          return is_of_backend(tables.frame(id), tables);
        });
      });
}

// Returns the index of the process that is the rank instead of this one, or kNobody.
std::size_t rank_below(const Capture& capture, const ProcessCapture& outer) {
  const bool known = outer.is_rank && outer.rank >= 0 && outer.read == snapshot::ReadState::kFull &&
                     !capture.tables.text(outer.python_version).empty();
  if (!known || has_default_group(outer)) {
    return kNobody;
  }
  std::size_t found = kNobody;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const ProcessCapture& each = capture.processes[i];
    if (each.is_rank || each.node != outer.node || each.owner != outer.pid ||
        each.rank != outer.rank || !has_default_group(each) ||
        !has_backend_thread(each, capture.tables)) {
      continue;
    }
    if (found != kNobody) {
      return kNobody;
    }
    found = i;
  }
  return found;
}

// Returns whether the main thread's stack begins where multiprocessing starts its workers.
bool begins_in_multiprocessing(const ProcessCapture& process, const Tables& tables) {
  if (process.threads.empty() || process.threads.front().samples.empty()) {
    return false;
  }
  const snapshot::ThreadSample& last = process.threads.front().samples.back();
  for (const snapshot::StackId id : {last.stack, last.python_stack}) {
    for (const snapshot::FrameId at : tables.stack(id).frames) {
      const Frame& frame = tables.frame(at);
      const std::string_view function = tables.text(frame.function);
      if (frame.kind == FrameKind::kPython &&
          tables.text(frame.file).ends_with("multiprocessing/process.py") &&
          (function == "_bootstrap" || function.ends_with("._bootstrap"))) {
        return true;
      }
    }
  }
  return false;
}

// Marks orphaned workers as children of ranks that have exited; these ranks were on this node.
void demote_survivors(Capture& capture) {
  for (ProcessCapture& process : capture.processes) {
    if (!process.is_rank || process.rank < 0 || process.parent > 1 ||
        has_backend_thread(process, capture.tables) ||
        !begins_in_multiprocessing(process, capture.tables)) {
      continue;
    }
    for (ProcessCapture& each : capture.processes) {
      each.owner = each.owner == process.pid && each.node == process.node ? -1 : each.owner;
    }
    process.is_rank = false;
    process.outlives_rank = true;
    auto& expected = capture.nodes[process.node].expected_ranks;
    const auto at = std::lower_bound(expected.begin(), expected.end(), process.rank);
    if (at == expected.end() || *at != process.rank) {
      expected.insert(at, process.rank);
    }
  }
}

}  // namespace

void settle_ranks(Capture& capture) {
  demote_survivors(capture);
  std::set<std::pair<std::uint32_t, pid_t>> outer;
  for (const ProcessCapture& process : capture.processes) {
    const std::size_t at = rank_below(capture, process);
    if (at == kNobody) {
      continue;
    }
    const pid_t pid = capture.processes[at].pid;
    outer.emplace(process.node, process.pid);
    for (ProcessCapture& each : capture.processes) {
      if (each.node == process.node && each.owner == process.pid && each.pid != process.pid) {
        each.owner = pid;
      }
    }
    capture.processes[at].is_rank = true;
  }
  std::erase_if(capture.processes, [&outer](const ProcessCapture& process) {
    return outer.count({process.node, process.pid}) != 0;
  });
}

}  // namespace oddrank::node
