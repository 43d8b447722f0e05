// Made-up captures for tests of the analysis: jobs with ranks, children, stacks, waits and calls,
// without any process. Ids are interned as a real agent does it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::tests {

struct FrameSpec {
  snapshot::FrameKind kind = snapshot::FrameKind::kNative;
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  std::uint8_t flags = 0;  // snapshot::FrameFlag
};

using Frames = std::vector<FrameSpec>;  // innermost first

FrameSpec py(std::string_view function, std::string_view file, std::uint32_t line);
FrameSpec native(std::string_view symbol, std::string_view module);
Frames operator+(Frames inner, const Frames& outer);

struct WaitSpec {
  snapshot::WaitOn on = snapshot::WaitOn::kUnknown;
  std::string syscall = {};
  std::string path = {};
  std::string wchan = {};
  std::string detail = {};
  pid_t holder_pid = 0;
  pid_t holder_tid = 0;
  std::int32_t fd = -1;
  snapshot::Known holder_alive = snapshot::Known::kUnknown;
  std::uint64_t address = 0;
  bool inferred = false;
  snapshot::WaitHow how = snapshot::WaitHow::kDescribed;
  snapshot::LockFacts lock = {};
  bool limited = false;
};

struct CallSpec {
  snapshot::CallKind kind = snapshot::CallKind::kCollective;
  std::string op = {};
  std::string group = {};
  bool whole_world = false;
  std::vector<std::int32_t> members = {};
  std::int32_t root = -1;
  std::int32_t peer = -1;
  std::vector<std::int32_t> peers = {};
  std::int32_t wants_window = -1;
  std::vector<std::int32_t> has_windows = {};
  std::int64_t sequence = -1;
  std::string evidence = {};
};

// A thread; its samples are equal except for the fields below.
struct ThreadSpec {
  Frames frames = {};
  Frames earlier = {};  // of all samples but the last; empty: as in the last
  char state = 'S';
  std::uint64_t cpu_step_us = 0;  // used between two samples
  std::uint64_t switch_step = 0;  // voluntary
  WaitSpec wait = {};
  std::optional<CallSpec> call = {};
  std::string name = "python3";
  std::string python_name = "MainThread";
  bool has_python = true;
  bool holds_gil = false;
};

// An asyncio task that waits.
struct TaskSpec {
  std::string name = {};
  Frames frames = {};
  std::string awaits = {};
  std::vector<std::string> members = {};
};

class CaptureBuilder {
 public:
  // Makes a SLURM job of `hosts`, all of which answer; ranks are added by hand.
  CaptureBuilder(std::vector<std::string> hosts, std::int32_t world_size);

  snapshot::Capture capture;
  std::size_t samples = 2;

  // Moves the capture out.
  snapshot::Capture take() { return std::move(capture); }

  snapshot::ProcessCapture& rank(std::int32_t number, std::string_view host, pid_t pid);
  // Adds a child of `owner`, which may move: processes are a vector.
  snapshot::ProcessCapture& child(pid_t owner, std::string_view host, pid_t pid);
  // Adds a thread; the first one is the main thread (tid = pid).
  snapshot::ThreadCapture& thread(snapshot::ProcessCapture& process, const ThreadSpec& spec);
  void task(snapshot::ProcessCapture& process, const TaskSpec& spec);
  // Returns a process by its pid, which must exist.
  snapshot::ProcessCapture& process(pid_t pid);
  void remove(pid_t pid);
  // Marks the node as silent: its processes are dropped.
  void silence(std::string_view host, std::string_view why);

 private:
  std::uint32_t node(std::string_view host) const;
  snapshot::StackId stack(const Frames& frames);
};

}  // namespace oddrank::tests
