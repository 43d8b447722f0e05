#include "collectives/call_frames.h"

#include "base/base_name.h"
#include "base/names/demangle.h"

namespace oddrank::collectives {
namespace {

// Returns whether the frame is the first own one of a worker of Python's multiprocessing. If the
// worker was forked, the outer frames are its parent's at that moment.
bool is_process_start(const snapshot::Frame& frame, const snapshot::Tables& tables) {
  const std::string_view function = tables.text(frame.function);
  return frame.kind == snapshot::FrameKind::kPython &&
         (function == "_bootstrap" || function.ends_with("._bootstrap")) &&
         tables.text(frame.file).ends_with("multiprocessing/process.py");
}

// Removes "@0x7f31c0", which `--addresses` adds.
std::string_view without_address(std::string_view value) {
  const std::size_t at = value.rfind("@0x");
  const bool address = at != value.npos && at > 0 && value.back() != '\'' &&
                       value.find_first_not_of("0123456789abcdef", at + 3) == value.npos;
  return address ? value.substr(0, at) : value;
}

}  // namespace

CallFrames::CallFrames(const snapshot::ThreadCapture& thread,
                       const snapshot::Tables& tables,
                       bool python)
    : thread_(thread), tables_(tables), has_locals_(false) {
  if (thread.samples.empty()) {
    return;
  }
  const snapshot::ThreadSample& last = thread.samples.back();
  const bool apart = tables.stack(last.stack).merge == snapshot::MergeState::kMismatch;
  has_locals_ = python == apart;
  if (python && !apart) {
    return;
  }
  for (const snapshot::FrameId id : tables.stack(python ? last.python_stack : last.stack).frames) {
    frames_.push_back(&tables.frame(id));
    if (is_process_start(tables.frame(id), tables)) {
      break;
    }
  }
}

std::string_view CallFrames::function(std::size_t index) const {
  return tables_.text(frames_[index]->function);
}

std::string_view CallFrames::file(std::size_t index) const {
  return tables_.text(frames_[index]->file);
}

bool CallFrames::is_python(std::size_t index) const {
  return frames_[index]->kind == snapshot::FrameKind::kPython;
}

std::optional<std::string_view> CallFrames::local(std::size_t index, std::string_view name) const {
  if (!has_locals_) {
    return std::nullopt;
  }
  for (const snapshot::FrameLocals& locals : thread_.locals) {
    if (locals.frame != index) {
      continue;
    }
    for (const snapshot::Local& local : locals.locals) {
      if (tables_.text(local.name) == name) {
        return without_address(tables_.text(local.value));
      }
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> CallFrames::locals(std::size_t index) const {
  std::vector<std::string_view> values;
  for (const snapshot::FrameLocals& of_frame : thread_.locals) {
    for (const snapshot::Local& local : of_frame.locals) {
      if (has_locals_ && of_frame.frame == index) {
        values.push_back(without_address(tables_.text(local.value)));
      }
    }
  }
  return values;
}

std::string CallFrames::describe(std::size_t index) const {
  if (!is_python(index)) {
    return short_name(function(index));
  }
  return std::string(function(index)) + " (" + std::string(base_name(file(index))) + ":" +
         std::to_string(frame(index).line) + ")";
}

}  // namespace oddrank::collectives
