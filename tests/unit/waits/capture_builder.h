// Captures made up for tests of joining: processes of one node with one thread each.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "snapshot/capture.h"
#include "tests/support/sentence_of.h"

namespace oddrank::waits {

struct PythonFrameText {
  std::string_view function;
  std::string_view file;
  std::uint32_t line = 1;
};

class CaptureBuilder {
 public:
  CaptureBuilder() { capture.nodes.push_back({}); }

  // Adds a process with one thread. Returns its index.
  std::size_t add(pid_t pid, pid_t parent, std::initializer_list<PythonFrameText> frames) {
    snapshot::ProcessCapture process;
    process.pid = pid;
    process.parent = parent;
    process.state = 'S';
    process.is_rank = parent == 1;
    process.owner = process.is_rank ? pid : parent;
    snapshot::ThreadCapture thread;
    thread.tid = pid;
    thread.samples.push_back({});
    thread.samples.edit(0).stack = stack(frames);
    process.threads.push_back(thread);
    capture.processes.push_back(process);
    return capture.processes.size() - 1;
  }

  std::size_t add_dead(pid_t pid, pid_t parent, std::string_view name, std::int32_t exit_code) {
    const std::size_t index = add(pid, parent, {});
    process(index).state = 'Z';
    process(index).name = capture.tables.string(name);
    process(index).exit_code = exit_code;
    process(index).threads.clear();
    return index;
  }

  snapshot::ProcessCapture& process(std::size_t index) { return capture.processes[index]; }
  snapshot::Wait& wait(std::size_t index) { return capture.processes[index].threads[0].wait; }
  // Returns the sentence that reports have for the wait.
  std::string says(std::size_t index) {
    return tests::sentence_of(capture, process(index), process(index).threads[0]);
  }

  snapshot::StackId stack(std::initializer_list<PythonFrameText> frames) {
    snapshot::Stack stack;
    for (const PythonFrameText& each : frames) {
      snapshot::Frame frame;
      frame.kind = snapshot::FrameKind::kPython;
      frame.function = capture.tables.string(each.function);
      frame.file = capture.tables.string(each.file);
      frame.line = each.line;
      stack.frames.push_back(capture.tables.frame(frame));
    }
    stack.merge = snapshot::MergeState::kPythonOnly;
    return capture.tables.stack(stack);
  }

  snapshot::Capture capture;
};

}  // namespace oddrank::waits
