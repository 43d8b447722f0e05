#include "node/note_lost_python.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/base_name.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::Frame;
using snapshot::ProcessCapture;
using snapshot::StackId;
using snapshot::Tables;

// Functions of CPython that run or call Python code, in any version.
constexpr std::array<std::string_view, 8> kRunners = {"_PyEval_EvalFrameDefault",
                                                      "PyEval_EvalFrameEx",
                                                      "PyEval_EvalCode",
                                                      "_PyEval_Vector",
                                                      "PyObject_Call",
                                                      "PyObject_Vectorcall",
                                                      "Py_RunMain",
                                                      "PyRun_SimpleFileExFlags"};

bool is_libpython(std::string_view path) {
  return base_name(path).starts_with("libpython3");
}

// Returns what tells of a Python in one stack; "" if nothing does.
std::string trace_in(StackId id, const Tables& tables) {
  for (const auto frame_id : tables.stack(id).frames) {
    const Frame& frame = tables.frame(frame_id);
    if (frame.kind == snapshot::FrameKind::kPython) {
      continue;
    }
    const std::string_view function = tables.text(frame.function);
    if (std::find(kRunners.begin(), kRunners.end(), function) != kRunners.end()) {
      return std::string(function) + "()";
    }
    const std::string_view path = tables.text(frame.file);
    if (function.empty() && is_libpython(path)) {
      return "code of " + std::string(base_name(path));
    }
  }
  return {};
}

std::string trace_in(const ProcessCapture& process, const Tables& tables) {
  for (const snapshot::ThreadCapture& thread : process.threads) {
    if (!thread.samples.empty()) {
      if (std::string trace = trace_in(thread.samples.back().stack, tables); !trace.empty()) {
        return trace;
      }
    }
  }
  return {};
}

}  // namespace

void note_lost_python(Capture& capture) {
  for (ProcessCapture& process : capture.processes) {
    if (process.read != snapshot::ReadState::kFull ||
        !capture.tables.text(process.python_version).empty()) {
      continue;
    }
    const std::string trace = trace_in(process, capture.tables);
    if (trace.empty()) {
      continue;
    }
    process.read = snapshot::ReadState::kPartial;
    process.why = capture.tables.string(
        "no Python frames: there is " + trace + " in its stack, but no interpreter was found" +
        (capture.job.source == snapshot::JobSource::kCore
             ? "; if the process's files are elsewhere, name their root: --sysroot DIR"
             : ""));
  }
}

}  // namespace oddrank::node
