#include "waits/node/node_family.h"

#include <algorithm>

namespace oddrank::waits {

using snapshot::Capture;
using snapshot::Frame;
using snapshot::ProcessCapture;
using snapshot::Tables;
using snapshot::ThreadCapture;

namespace {

constexpr FramePattern kProcessStart{"_bootstrap", "multiprocessing/process.py"};

}  // namespace

std::vector<const Frame*> python_frames(const ThreadCapture& thread, const Tables& tables) {
  std::vector<const Frame*> frames;
  if (thread.samples.empty()) {
    return frames;
  }
  const snapshot::ThreadSample& last = thread.samples.back();
  const bool apart = tables.stack(last.stack).merge == snapshot::MergeState::kMismatch;
  for (const auto id : tables.stack(apart ? last.python_stack : last.stack).frames) {
    if (tables.frame(id).kind == snapshot::FrameKind::kPython) {
      frames.push_back(&tables.frame(id));
      if (matches(kProcessStart, tables.frame(id), tables)) {
        break;
      }
    }
  }
  return frames;
}

bool any_frame_matches(std::span<const Frame* const> frames,
                       std::span<const FramePattern> patterns,
                       const Tables& tables) {
  return std::any_of(frames.begin(), frames.end(), [&](const Frame* frame) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const FramePattern& pattern) {
      return matches(pattern, *frame, tables);
    });
  });
}

void add_note(Capture& capture, snapshot::Wait& wait, const std::string& more) {
  const std::string text(capture.tables.text(wait.notes));
  wait.notes = capture.tables.string(text.empty() ? more : text + "; " + more);
}

std::vector<WaitPlace> find_waits(const Capture& capture,
                                  const std::function<bool(const snapshot::Wait&)>& is_wanted) {
  std::vector<WaitPlace> places;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const auto& threads = capture.processes[i].threads;
    for (std::size_t t = 0; t < threads.size(); ++t) {
      if (is_wanted(threads[t].wait)) {
        places.push_back({i, t});
      }
    }
  }
  return places;
}

bool is_dead(const ProcessCapture& process) {
  return process.state == 'Z' || process.state == 'X';
}

ProcessList children_of(const Capture& capture, std::size_t process) {
  const ProcessCapture& parent = capture.processes[process];
  ProcessList list;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const ProcessCapture& each = capture.processes[i];
    if (i != process && each.node == parent.node && each.parent == parent.pid) {
      list.push_back(i);
    }
  }
  return list;
}

ProcessList family_of(const Capture& capture, std::size_t process) {
  const ProcessCapture& parent = capture.processes[process];
  ProcessList list;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const ProcessCapture& each = capture.processes[i];
    const bool owned = parent.is_rank && !each.is_rank && each.owner == parent.pid;
    if (i != process && each.node == parent.node && (each.parent == parent.pid || owned)) {
      list.push_back(i);
    }
  }
  return list;
}

}  // namespace oddrank::waits
