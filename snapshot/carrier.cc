#include "snapshot/carrier.h"

#include <utility>

namespace oddrank::snapshot {
namespace {

void rewrite_all(std::vector<std::string>& texts,
                 const std::function<std::string(std::string_view)>& rewrite) {
  for (std::string& text : texts) {
    text = rewrite(text);
  }
}

}  // namespace

Carrier::Carrier(const Tables& from, Tables& to) : Carrier(from, to, TextRewrites{}) {}

Carrier::Carrier(const Tables& from, Tables& to, TextRewrites rewrites)
    : from_(from),
      to_(to),
      rewrites_(std::move(rewrites)),
      strings_(from.strings().size(), kNotCarried),
      files_(strings_),
      names_(strings_),
      frames_(from.frames().size(), kNotCarried),
      stacks_(from.stacks().size(), kNotCarried) {}

StringId Carrier::carried(StringId id, Carried& known, const Rewrite& rewrite) {
  if (!from_.strings().contains(id)) {
    return StringId{};
  }
  std::uint32_t& one = known[static_cast<std::size_t>(id)];
  if (one == kNotCarried) {
    const std::string_view text = from_.text(id);
    one = static_cast<std::uint32_t>(rewrite ? to_.string(rewrite(text)) : to_.string(text));
  }
  return StringId{one};
}

FrameId Carrier::frame(FrameId id) {
  if (!from_.frames().contains(id)) {
    return to_.frame(Frame{});
  }
  std::uint32_t& known = frames_[static_cast<std::size_t>(id)];
  if (known == kNotCarried) {
    Frame frame = from_.frame(id);
    frame.function = carried(frame.function, names_, {});
    frame.file = carried(frame.file, files_, rewrites_.frame_file);
    frame.build_id = carried(frame.build_id, names_, {});
    frame.source = carried(frame.source, files_, rewrites_.frame_file);
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

void Carrier::carry(Wait& wait) {
  carry(wait.syscall_name, wait.wchan, wait.path);
  if (wait.rare.is_default()) {
    carry(wait.detail, wait.lock.function);
    return;
  }
  RareWaitFacts& rare = wait.rare.edit();
  carry(rare.local, rare.peer, wait.detail, wait.lock.function);
  carry(rare.pool.name, rare.key, rare.notes, rare.motion);
  for (AwaitedFile& file : rare.awaited) {
    carry(file.link, file.local, file.peer, file.note);
  }
}

void Carrier::carry(CollectiveCall& call) {
  carry(call.op, call.group, call.label, call.members, call.peers, call.evidence);
}

void Carrier::carry(ThreadCapture& thread) {
  carry(thread.name, thread.python_name);
  for (ThreadSample& sample : thread.samples.stored()) {
    sample.stack = stack(sample.stack);
    sample.python_stack = stack(sample.python_stack);
    carry(sample.tracer_name);
  }
  carry(thread.wait);
  if (thread.call) {
    carry(*thread.call);
  }
  for (FrameLocals& frame_locals : thread.locals) {
    for (Local& local : frame_locals.locals) {
      carry(local.name, local.value);
    }
  }
  for (PythonLoop& loop : thread.loops) {
    for (LoopCall& call : loop.calls) {
      carry(call.name, call.object);
    }
  }
}

ProcessCapture Carrier::process(ProcessCapture process) {
  carry(process.job_key, process.name, process.executable, process.command, process.why,
        process.python_version, process.exception);
  if (!process.crash.is_default()) {
    carry(process.crash.edit().message);
  }
  for (auto& [name, value] : process.environment) {
    carry(name, value);
  }
  for (auto& [name, value] : process.setup) {
    carry(name, value);
  }
  for (Connection& connection : process.connections) {
    carry(connection.local, connection.peer);
  }
  for (Transfer& transfer : process.transfers) {
    carry(transfer.local, transfer.peer, transfer.device);
  }
  for (ThreadCapture& thread : process.threads) {
    carry(thread);
  }
  for (AsyncTask& task : process.tasks) {
    carry(task.name);
    task.stack = stack(task.stack);
    carry(task.awaits);
    for (StringId& member : task.members) {
      carry(member);
    }
  }
  for (ProcessGroup& group : process.groups) {
    carry(group.name, group.label, group.backend, group.members);
    for (GroupCounter& counter : group.counters) {
      carry(counter.backend);
    }
  }
  return process;
}

FlightRecord Carrier::flight_record(FlightRecord record) {
  carry(record.source, record.version);
  for (FlightGroup& group : record.groups) {
    carry(group.name, group.description, group.members, group.backend);
  }
  for (FlightEntry& entry : record.entries) {
    carry(entry.op, entry.backend, entry.input_sizes, entry.output_sizes, entry.input_types,
          entry.output_types, entry.place, entry.thread);
  }
  return record;
}

RasCommunicator Carrier::communicator(RasCommunicator communicator) {
  carry(communicator.hash, communicator.version);
  for (RasRank& rank : communicator.ranks) {
    carry(rank.host);
  }
  return communicator;
}

LogLine Carrier::log_line(LogLine line) {
  carry(line.op, line.text, line.source);
  return line;
}

Device Carrier::device(Device device) {
  carry(device.name);
  return device;
}

LinkPort Carrier::port(LinkPort port) {
  carry(port.device, port.state, port.physical, port.rate);
  return port;
}

CollectiveState Carrier::collectives(CollectiveState state) {
  for (FlightRecord& record : state.flight) {
    record = flight_record(std::move(record));
  }
  for (RasCommunicator& one : state.ras) {
    one = communicator(std::move(one));
  }
  for (LogLine& line : state.log) {
    line = log_line(line);
  }
  for (Device& one : state.devices) {
    one = device(one);
  }
  for (LinkPort& one : state.ports) {
    one = port(one);
  }
  return state;
}

CaptureRows Carrier::rows(CaptureRows rows) {
  if (rewrites_.text) {
    JobInfo& job = rows.job;
    for (std::string* text : {&job.id, &job.name, &job.user, &job.state, &job.output_path}) {
      *text = rewrites_.text(*text);
    }
    rewrite_all(job.hosts, rewrites_.text);
    rewrite_all(job.notes, rewrites_.text);
    for (NodeCapture& node : rows.nodes) {
      node.host = rewrites_.text(node.host);
      node.why = rewrites_.text(node.why);
      rewrite_all(node.notes, rewrites_.text);
    }
  }
  for (ProcessCapture& one : rows.processes) {
    one = process(std::move(one));
  }
  rows.collectives = collectives(std::move(rows.collectives));
  return rows;
}

}  // namespace oddrank::snapshot
