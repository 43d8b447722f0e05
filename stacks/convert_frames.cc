#include "stacks/convert_frames.h"

#include <algorithm>
#include <string>

#include "base/signals/signal_name.h"

namespace oddrank::stacks {
namespace {

constexpr const char* kDelivered = "<signal delivered here>";

// Used without the file and without its header in memory. It is right for nearly all modules, whose
// first segment has the same offset in the file and in memory.
std::uint64_t guess_bias(const elf::Module& module) {
  return module.start - module.mapping->file_offset;
}

}  // namespace

const FrameConverter::Known& FrameConverter::known(const elf::Module& module) {
  const auto found = known_.find(&module);
  if (found != known_.end()) {
    return found->second;
  }
  Known known;
  known.file = tables_.string(module.path);
  known.build_id = tables_.string(modules_.build_id(module));
  if (const auto bias = modules_.load_bias(module)) {
    known.load_bias = *bias;
  } else if (const auto header = modules_.mapped_header(module)) {
    known.load_bias = (*header)->load_bias;
  } else {
    known.load_bias = guess_bias(module);
  }
  return known_.emplace(&module, known).first->second;
}

bool FrameConverter::is_evaluation(std::uint64_t address) const {
  return std::any_of(evaluation_.begin(), evaluation_.end(), [address](const elf::ElfRange& range) {
    return address - range.address < range.size;
  });
}

std::vector<snapshot::Frame> FrameConverter::native(const unwind::NativeStack& stack) {
  std::vector<snapshot::Frame> frames;
  frames.reserve(stack.frames.size());
  bool exact = true;  // the pc is where the thread is, not a return address
  for (const unwind::NativeFrame& native : stack.frames) {
    // A call may be the last instruction of a function: its return address lies in the next one.
    const bool signal_frame = (native.flags & snapshot::kSignalFrame) != 0;
    const std::uint64_t inside = native.pc - (exact || signal_frame ? 0 : 1);
    snapshot::Frame frame;
    frame.kind = snapshot::FrameKind::kNative;
    frame.flags = native.flags;
    frame.offset = native.pc;
    if (const elf::Module* module = modules_.find(inside)) {
      const Known& facts = known(*module);
      frame.file = facts.file;
      frame.build_id = facts.build_id;
      frame.offset = native.pc - facts.load_bias;
    }
    if (signal_frame) {
      frame.function = tables_.string(native.signal == 0 ? std::string(kDelivered)
                                                         : "<signal " + signal_name(native.signal) +
                                                               " delivered here>");
    }
    if (is_evaluation(inside)) {
      frame.flags |= snapshot::kEvaluation;
    }
    exact = signal_frame;
    frames.push_back(frame);
  }
  return frames;
}

std::vector<snapshot::Frame> FrameConverter::python(
    const std::vector<cpython::PythonFrame>& python_frames) {
  std::vector<snapshot::Frame> frames;
  frames.reserve(python_frames.size());
  for (const cpython::PythonFrame& python : python_frames) {
    snapshot::Frame frame;
    frame.kind = snapshot::FrameKind::kPython;
    if (python.entry) {
      frame.flags |= snapshot::kEntry;
    }
    frame.function = tables_.string(python.readable ? python.function : "<unreadable>");
    frame.file = tables_.string(python.file);
    frame.line = python.line;
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace oddrank::stacks
