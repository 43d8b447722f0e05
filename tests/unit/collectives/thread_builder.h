// One thread of a capture, made up of frames and locals, for tests of calls.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "collectives/find_calls.h"
#include "snapshot/capture.h"
#include "tests/support/catch.h"

namespace oddrank::collectives {

class ThreadBuilder {
 public:
  using Locals = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  ThreadBuilder() {
    capture.processes.emplace_back();
    capture.processes[0].threads.emplace_back();
    thread().samples.emplace_back();
  }

  snapshot::ThreadCapture& thread() { return capture.processes[0].threads[0]; }

  // Adds a frame, innermost first. Calls can be chained.
  ThreadBuilder& python(std::string_view function,
                        std::string_view file,
                        std::uint32_t line = 1,
                        Locals locals = {}) {
    snapshot::Frame frame;
    frame.kind = snapshot::FrameKind::kPython;
    frame.function = capture.tables.string(function);
    frame.file = capture.tables.string(file);
    frame.line = line;
    snapshot::FrameLocals values;
    values.frame = static_cast<std::uint32_t>(stack_.frames.size());
    for (const auto& [name, value] : locals) {
      values.locals.push_back({capture.tables.string(name), capture.tables.string(value)});
    }
    if (!values.locals.empty()) {
      thread().locals.push_back(values);
    }
    stack_.frames.push_back(capture.tables.frame(frame));
    return finish();
  }
  ThreadBuilder& native(std::string_view symbol) {
    snapshot::Frame frame;
    frame.function = capture.tables.string(symbol);
    stack_.frames.push_back(capture.tables.frame(frame));
    return finish();
  }

  snapshot::Capture capture;

 private:
  ThreadBuilder& finish() {
    stack_.merge = snapshot::MergeState::kMerged;
    thread().samples.edit(0).stack = capture.tables.stack(stack_);
    return *this;
  }

  snapshot::Stack stack_;
};

inline constexpr std::string_view kC10dFile = "/v/torch/distributed/distributed_c10d.py";
inline constexpr std::string_view kLoggerFile = "/v/torch/distributed/c10d_logger.py";

// Finds the thread's call, which there must be.
inline const snapshot::CollectiveCall& found_call(ThreadBuilder& builder) {
  find_calls(builder.capture);
  REQUIRE(builder.thread().call);
  return *builder.thread().call;
}

inline std::string builder_text(const ThreadBuilder& builder, snapshot::StringId id) {
  return std::string(builder.capture.tables.text(id));
}

}  // namespace oddrank::collectives
