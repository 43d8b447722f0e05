#include "snapshot/carrier.h"

namespace oddrank::snapshot {

Carrier::Carrier(const Tables& from, Tables& to)
    : from_(from),
      to_(to),
      strings_(from.strings().size(), kNotCarried),
      frames_(from.frames().size(), kNotCarried),
      stacks_(from.stacks().size(), kNotCarried) {}

StringId Carrier::string(StringId id) {
  if (!from_.strings().contains(id)) {
    return StringId{};
  }
  std::uint32_t& known = strings_[static_cast<std::size_t>(id)];
  if (known == kNotCarried) {
    known = static_cast<std::uint32_t>(to_.string(from_.text(id)));
  }
  return StringId{known};
}

FrameId Carrier::frame(FrameId id) {
  if (!from_.frames().contains(id)) {
    return to_.frame(Frame{});
  }
  std::uint32_t& known = frames_[static_cast<std::size_t>(id)];
  if (known == kNotCarried) {
    Frame frame = from_.frame(id);
    frame.function = string(frame.function);
    frame.file = string(frame.file);
    frame.build_id = string(frame.build_id);
    frame.source = string(frame.source);
    known = static_cast<std::uint32_t>(to_.frame(frame));
  }
  return FrameId{known};
}

StackId Carrier::stack(StackId id) {
  if (!from_.stacks().contains(id)) {
    return StackId{};
  }
  std::uint32_t& known = stacks_[static_cast<std::size_t>(id)];
  if (known == kNotCarried) {
    Stack stack = from_.stack(id);
    for (FrameId& frame_id : stack.frames) {
      frame_id = frame(frame_id);
    }
    known = static_cast<std::uint32_t>(to_.stack(stack));
  }
  return StackId{known};
}

Wait Carrier::wait(const Wait& wait) {
  Wait carried = wait;
  carried.syscall_name = string(wait.syscall_name);
  carried.wchan = string(wait.wchan);
  carried.path = string(wait.path);
  carried.local = string(wait.local);
  carried.peer = string(wait.peer);
  carried.detail = string(wait.detail);
  return carried;
}

CollectiveCall Carrier::call(const CollectiveCall& call) {
  CollectiveCall carried = call;
  carried.op = string(call.op);
  carried.group = string(call.group);
  carried.label = string(call.label);
  carried.members = string(call.members);
  carried.evidence = string(call.evidence);
  return carried;
}

ThreadCapture Carrier::thread(const ThreadCapture& thread) {
  ThreadCapture carried = thread;
  carried.name = string(thread.name);
  carried.python_name = string(thread.python_name);
  for (ThreadSample& sample : carried.samples) {
    sample.stack = stack(sample.stack);
    sample.python_stack = stack(sample.python_stack);
  }
  carried.wait = wait(thread.wait);
  if (thread.call) {
    carried.call = call(*thread.call);
  }
  for (FrameLocals& frame_locals : carried.locals) {
    for (Local& local : frame_locals.locals) {
      local.name = string(local.name);
      local.value = string(local.value);
    }
  }
  return carried;
}

ProcessCapture Carrier::process(const ProcessCapture& process) {
  ProcessCapture carried = process;
  carried.job_key = string(process.job_key);
  carried.name = string(process.name);
  carried.executable = string(process.executable);
  carried.command = string(process.command);
  carried.why = string(process.why);
  carried.python_version = string(process.python_version);
  for (auto& [name, value] : carried.environment) {
    name = string(name);
    value = string(value);
  }
  for (Connection& connection : carried.connections) {
    connection.local = string(connection.local);
    connection.peer = string(connection.peer);
  }
  for (ThreadCapture& captured : carried.threads) {
    captured = thread(captured);
  }
  for (AsyncTask& task : carried.tasks) {
    task.name = string(task.name);
    task.stack = stack(task.stack);
    task.awaits = string(task.awaits);
    for (StringId& member : task.members) {
      member = string(member);
    }
  }
  for (ProcessGroup& group : carried.groups) {
    group.name = string(group.name);
    group.label = string(group.label);
    group.backend = string(group.backend);
    group.members = string(group.members);
  }
  return carried;
}

FlightRecord Carrier::flight_record(const FlightRecord& record) {
  FlightRecord carried = record;
  carried.source = string(record.source);
  carried.version = string(record.version);
  for (FlightGroup& group : carried.groups) {
    group.name = string(group.name);
    group.description = string(group.description);
    group.members = string(group.members);
  }
  for (FlightEntry& entry : carried.entries) {
    for (auto field : {&FlightEntry::op, &FlightEntry::backend, &FlightEntry::input_sizes,
                       &FlightEntry::output_sizes, &FlightEntry::input_types,
                       &FlightEntry::output_types, &FlightEntry::place}) {
      entry.*field = string(entry.*field);
    }
  }
  return carried;
}

RasCommunicator Carrier::communicator(const RasCommunicator& communicator) {
  RasCommunicator carried = communicator;
  carried.hash = string(communicator.hash);
  carried.version = string(communicator.version);
  for (RasRank& rank : carried.ranks) {
    rank.host = string(rank.host);
  }
  return carried;
}

LogLine Carrier::log_line(const LogLine& line) {
  LogLine carried = line;
  carried.op = string(line.op);
  carried.text = string(line.text);
  carried.source = string(line.source);
  return carried;
}

Device Carrier::device(const Device& device) {
  Device carried = device;
  carried.name = string(device.name);
  return carried;
}

LinkPort Carrier::port(const LinkPort& port) {
  LinkPort carried = port;
  carried.device = string(port.device);
  carried.state = string(port.state);
  carried.physical = string(port.physical);
  carried.rate = string(port.rate);
  return carried;
}

}  // namespace oddrank::snapshot
