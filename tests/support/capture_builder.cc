#include "tests/support/capture_builder.h"

#include <algorithm>
#include <utility>

#include "snapshot/rank_text.h"

namespace oddrank::tests {

using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::ProcessCapture;
using snapshot::ReadState;
using snapshot::ThreadCapture;
using snapshot::ThreadSample;

namespace {

constexpr std::uint64_t kBeganUs = 1'700'000'000'000'000;

}  // namespace

FrameSpec py(std::string_view function, std::string_view file, std::uint32_t line) {
  return {FrameKind::kPython, std::string(function), std::string(file), line, 0};
}

FrameSpec native(std::string_view symbol, std::string_view module) {
  return {FrameKind::kNative, std::string(symbol), std::string(module), 0, 0};
}

Frames operator+(Frames inner, const Frames& outer) {
  inner.insert(inner.end(), outer.begin(), outer.end());
  return inner;
}

CaptureBuilder::CaptureBuilder(std::vector<std::string> hosts, std::int32_t world_size) {
  capture.job.id = "4711";
  capture.job.name = "pretrain";
  capture.job.user = "ada";
  capture.job.state = "RUNNING";
  capture.job.source = snapshot::JobSource::kSlurm;
  capture.job.output_path = "/home/ada/slurm-4711.out";
  capture.job.world_size = world_size;
  for (const std::string& host : hosts) {
    snapshot::NodeCapture node;
    node.host = host;
    node.answered = true;
    capture.nodes.push_back(std::move(node));
  }
  capture.job.hosts = std::move(hosts);
}

std::uint32_t CaptureBuilder::node(std::string_view host) const {
  const auto at = std::find_if(capture.nodes.begin(), capture.nodes.end(),
                               [host](const auto& each) { return each.host == host; });
  return static_cast<std::uint32_t>(at - capture.nodes.begin());
}

ProcessCapture& CaptureBuilder::rank(std::int32_t number, std::string_view host, pid_t pid) {
  ProcessCapture process;
  process.node = node(host);
  process.pid = pid;
  process.parent = 100;
  process.owner = pid;
  process.is_rank = true;
  process.rank = number;
  process.world_size = capture.job.world_size;
  process.name = capture.tables.string("python3");
  process.command = capture.tables.string("python3 train.py --steps 100");
  process.python_version = capture.tables.string("3.11.7");
  process.state = 'S';
  process.start_us = 1000;
  process.read_us = kBeganUs + 5000 * static_cast<std::uint64_t>(process.node);
  process.read = ReadState::kFull;
  capture.processes.push_back(process);
  return capture.processes.back();
}

ProcessCapture& CaptureBuilder::child(pid_t owner, std::string_view host, pid_t pid) {
  ProcessCapture& process = rank(-1, host, pid);
  process.is_rank = false;
  process.owner = owner;
  process.parent = owner;
  process.rank = this->process(owner).rank;
  return process;
}

snapshot::StackId CaptureBuilder::stack(const Frames& frames) {
  snapshot::Stack stack;
  stack.end = snapshot::StackEnd::kComplete;
  stack.merge = snapshot::MergeState::kNativeOnly;
  for (const FrameSpec& spec : frames) {
    Frame frame;
    frame.kind = spec.kind;
    frame.function = capture.tables.string(spec.function);
    frame.file = capture.tables.string(spec.file);
    frame.line = spec.line;
    frame.flags = spec.flags;
    frame.offset = spec.kind == FrameKind::kNative ? 0x1000 + spec.function.size() : 0;
    stack.frames.push_back(capture.tables.frame(frame));
    if (spec.kind == FrameKind::kPython) {
      stack.merge = snapshot::MergeState::kMerged;
    }
  }
  return capture.tables.stack(stack);
}

void CaptureBuilder::task(ProcessCapture& process, const TaskSpec& spec) {
  snapshot::AsyncTask task;
  task.name = capture.tables.string(spec.name);
  task.state = snapshot::TaskState::kWaits;
  task.stack = stack(spec.frames);
  task.awaits = capture.tables.string(spec.awaits);
  for (const std::string& member : spec.members) {
    task.members.push_back(capture.tables.string(member));
  }
  process.tasks.push_back(std::move(task));
}

ThreadCapture& CaptureBuilder::thread(ProcessCapture& process, const ThreadSpec& spec) {
  auto& tables = capture.tables;
  ThreadCapture thread;
  thread.tid = process.pid + static_cast<pid_t>(process.threads.size());
  thread.name = tables.string(spec.name);
  thread.python_name = tables.string(spec.has_python ? spec.python_name : "");
  thread.has_python = spec.has_python;
  thread.holds_gil = spec.holds_gil;
  for (std::size_t at = 0; at < samples; ++at) {
    ThreadSample sample;
    const bool last = at + 1 == samples;
    sample.stack = stack(last || spec.earlier.empty() ? spec.frames : spec.earlier);
    sample.state = spec.state;
    sample.cpu_us = 2'000'000 + at * spec.cpu_step_us;
    sample.voluntary_switches = 40 + at * spec.switch_step;
    thread.samples.push_back(sample);
  }
  thread.wait.on = spec.wait.on;
  thread.wait.syscall_name = tables.string(spec.wait.syscall);
  thread.wait.path = tables.string(spec.wait.path);
  thread.wait.wchan = tables.string(spec.wait.wchan);
  thread.wait.detail = tables.string(spec.wait.detail);
  thread.wait.holder_pid = spec.wait.holder_pid;
  thread.wait.holder_tid = spec.wait.holder_tid;
  thread.wait.fd = spec.wait.fd;
  thread.wait.holder_alive = spec.wait.holder_alive;
  thread.wait.address = spec.wait.address;
  thread.wait.inferred = spec.wait.inferred;
  thread.wait.how = spec.wait.how;
  thread.wait.lock = spec.wait.lock;
  thread.wait.limited = spec.wait.limited;
  if (spec.call) {
    snapshot::CollectiveCall call;
    call.kind = spec.call->kind;
    call.op = tables.string(spec.call->op);
    call.group = tables.string(spec.call->group);
    call.whole_world = spec.call->whole_world;
    call.members = tables.string(snapshot::rank_text(spec.call->members));
    call.peer = spec.call->peer;
    call.peers = tables.string(snapshot::rank_text(spec.call->peers));
    call.wants_window = spec.call->wants_window;
    call.has_windows = tables.string(snapshot::rank_text(spec.call->has_windows));
    call.root = spec.call->root;
    call.sequence = spec.call->sequence;
    call.evidence = tables.string(spec.call->evidence);
    thread.call = call;
  }
  if (process.threads.empty()) {
    process.state = spec.state;
  }
  process.threads.push_back(std::move(thread));
  return process.threads.back();
}

ProcessCapture& CaptureBuilder::process(pid_t pid) {
  return *std::find_if(capture.processes.begin(), capture.processes.end(),
                       [pid](const ProcessCapture& each) { return each.pid == pid; });
}

void CaptureBuilder::remove(pid_t pid) {
  auto& processes = capture.processes;
  processes.erase(std::remove_if(processes.begin(), processes.end(),
                                 [pid](const ProcessCapture& each) {
                                   return each.pid == pid || each.owner == pid;
                                 }),
                  processes.end());
}

void CaptureBuilder::silence(std::string_view host, std::string_view why) {
  const std::uint32_t gone = node(host);
  capture.nodes[gone].answered = false;
  capture.nodes[gone].why = why;
  auto& processes = capture.processes;
  processes.erase(std::remove_if(processes.begin(), processes.end(),
                                 [gone](const ProcessCapture& each) { return each.node == gone; }),
                  processes.end());
}

}  // namespace oddrank::tests
