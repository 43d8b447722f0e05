// How a process ends: Python's Py_FinalizeEx waits for its threads (threading._shutdown) and runs
// the atexit functions; libc's exit() runs handlers and destructors. Py_Exit is how Python ends
// after sys.exit(). An exception that ends a program is printed before all that, so a rank in an
// exit handler has ended in order only if none was printed.
#include "node/note_endings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/base_name.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::Ending;
using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::ProcessCapture;
using snapshot::StackId;
using snapshot::Tables;
using snapshot::ThreadCapture;

constexpr std::array<std::string_view, 4> kEnds = {"Py_FinalizeEx", "_Py_Finalize", "Py_Exit",
                                                   "__run_exit_handlers"};

struct EndFrames {
  bool ends = false;
  bool by_exit = false;
};

void look_at(const Frame& frame, const Tables& tables, EndFrames& found) {
  const std::string_view function = tables.text(frame.function);
  if (frame.kind == FrameKind::kPython) {
    found.ends = found.ends ||
                 (function == "_shutdown" && base_name(tables.text(frame.file)) == "threading.py");
    return;
  }
  found.ends = found.ends || std::find(kEnds.begin(), kEnds.end(), function) != kEnds.end();
  found.by_exit = found.by_exit || function == "Py_Exit";
}

EndFrames end_frames(const ThreadCapture& thread, const Tables& tables) {
  EndFrames found;
  for (const StackId id : {thread.samples.back().stack, thread.samples.back().python_stack}) {
    for (const auto frame : tables.stack(id).frames) {
      look_at(tables.frame(frame), tables, found);
    }
  }
  return found;
}

Ending ending_of(const ProcessCapture& process, const Tables& tables) {
  if (process.ending == Ending::kFinalized) {
    return Ending::kFinalized;
  }
  const auto main =
      std::find_if(process.threads.begin(), process.threads.end(),
                   [&process](const ThreadCapture& thread) { return thread.tid == process.pid; });
  if (main == process.threads.end() || main->samples.empty()) {
    return Ending::kNone;
  }
  const EndFrames found = end_frames(*main, tables);
  if (!found.ends) {
    return Ending::kNone;
  }
  if (!tables.text(process.exception).empty()) {
    return Ending::kAfterException;
  }
  return found.by_exit ? Ending::kSystemExit : Ending::kInOrder;
}

}  // namespace

void note_endings(Capture& capture) {
  for (ProcessCapture& process : capture.processes) {
    process.ending = ending_of(process, capture.tables);
  }
}

}  // namespace oddrank::node
