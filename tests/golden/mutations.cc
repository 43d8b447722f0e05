#include "tests/golden/mutations.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "snapshot/carrier.h"
#include "snapshot/loops/loop_polls.h"
#include "snapshot/rank_text.h"

namespace oddrank::tests {

using snapshot::Capture;
using snapshot::Carrier;
using snapshot::ProcessCapture;

namespace {

using snapshot::ThreadCapture;

template <typename Index>
std::vector<Index> shuffled_order(std::size_t size, std::mt19937& random) {
  std::vector<Index> order(size);
  std::iota(order.begin(), order.end(), Index{0});
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

snapshot::StringId renamed_members(snapshot::StringId members,
                                   const std::function<void(std::int32_t&)>& rename,
                                   snapshot::Tables& tables) {
  auto ranks = snapshot::ranks_of(tables.text(members));
  std::for_each(ranks.begin(), ranks.end(), rename);
  std::sort(ranks.begin(), ranks.end());
  return tables.string(snapshot::rank_text(ranks));
}

// Renumbers what recorders say; NCCL's members are known by their pids. A transfer's other side is
// a number within the group.
void renumber(const std::function<void(std::int32_t&)>& rename,
              std::int32_t world,
              snapshot::Tables& tables,
              snapshot::CollectiveState& state) {
  for (snapshot::FlightRecord& record : state.flight) {
    rename(record.rank);
    for (std::size_t at = 0; at < record.groups.size(); ++at) {
      snapshot::FlightGroup& group = record.groups[at];
      std::vector<std::int32_t> ranks = snapshot::ranks_of(tables.text(group.members));
      if (ranks.empty()) {  // all
        ranks.resize(static_cast<std::size_t>(world));
        std::iota(ranks.begin(), ranks.end(), 0);
      }
      group.members = renamed_members(group.members, rename, tables);
      std::for_each(ranks.begin(), ranks.end(), rename);
      std::vector<std::int32_t> sorted = ranks;
      std::sort(sorted.begin(), sorted.end());
      for (snapshot::FlightEntry& entry : record.entries) {
        if (entry.group == at && entry.peer >= 0) {
          const std::int32_t other = ranks.at(static_cast<std::size_t>(entry.peer));
          entry.peer = static_cast<std::int32_t>(
              std::lower_bound(sorted.begin(), sorted.end(), other) - sorted.begin());
        }
      }
    }
  }
}

// Carries GPUs and ports; `place` returns the node's new index, or that it is left out.
template <typename Place>
void carry_devices(const Capture& from, Carrier& carrier, Capture& to, const Place& place) {
  for (snapshot::Device device : from.collectives.devices) {
    if (const std::optional<std::uint32_t> node = place(device.node)) {
      device.node = *node;
      to.collectives.devices.push_back(carrier.row(device));
    }
  }
  for (snapshot::LinkPort port : from.collectives.ports) {
    if (const std::optional<std::uint32_t> node = place(port.node)) {
      port.node = *node;
      to.collectives.ports.push_back(carrier.row(port));
    }
  }
}

std::string number_of(snapshot::StringId id) {
  return std::to_string(static_cast<std::uint32_t>(id));
}

// Renames "evaluate" to "f17", by the number of the text, so that equal names stay equal.
snapshot::StackId with_other_names(snapshot::Tables& tables, snapshot::StackId id) {
  snapshot::Stack stack = tables.stack(id);
  for (snapshot::FrameId& at : stack.frames) {
    snapshot::Frame frame = tables.frame(at);
    const std::string_view file = tables.text(frame.file);
    const bool library = file.find("site-packages/") != std::string_view::npos ||
                         file.find("/lib/python") != std::string_view::npos ||
                         file.substr(0, 1) == "<";
    if (frame.kind != snapshot::FrameKind::kPython || file.empty() || library ||
        tables.text(frame.function) == "<module>") {
      continue;
    }
    frame.function = tables.string("f" + number_of(frame.function));
    frame.file = tables.string("/srv/m" + number_of(frame.file) + ".py");
    at = tables.frame(frame);
  }
  return tables.stack(stack);
}

}  // namespace

Capture copy_of(const Capture& from) {
  Capture to;
  to.job = from.job;
  to.nodes = from.nodes;
  Carrier carrier(from.tables, to.tables);
  for (const ProcessCapture& process : from.processes) {
    to.processes.push_back(carrier.row(process));
  }
  to.collectives = carrier.row(from.collectives);
  return to;
}

Capture shuffled(const Capture& from, unsigned seed) {
  std::mt19937 random(seed);
  const auto place = shuffled_order<std::uint32_t>(from.nodes.size(), random);
  const auto order = shuffled_order<std::size_t>(from.processes.size(), random);
  Capture to;
  to.job = from.job;
  to.nodes.resize(from.nodes.size());
  for (std::size_t at = 0; at < place.size(); ++at) {
    to.nodes[place[at]] = from.nodes[at];
  }
  Carrier carrier(from.tables, to.tables);
  for (const std::size_t at : order) {
    to.processes.push_back(carrier.row(from.processes[at]));
    to.processes.back().node = place[from.processes[at].node];
  }
  carry_devices(from, carrier, to, [&place](std::uint32_t node) { return place[node]; });
  return to;
}

Capture renumbered(const Capture& from, const std::vector<std::int32_t>& numbers) {
  const auto rename = [&numbers](std::int32_t& rank) {
    if (rank >= 0 && static_cast<std::size_t>(rank) < numbers.size()) {
      rank = numbers[static_cast<std::size_t>(rank)];
    }
  };
  Capture to = copy_of(from);
  // Keys and files of a rank often end in its number.
  const auto rename_end = [&rename, &to](snapshot::StringId& name) {
    std::string text(to.tables.text(name));
    const std::size_t slash = text.rfind('/') + 1;
    const std::size_t end = std::min(text.find('.', slash), text.size());
    const std::size_t begin = text.find_last_not_of("0123456789", end - 1) + 1;
    if (begin < end && begin >= slash) {
      std::int32_t rank = std::stoi(text.substr(begin, end - begin));
      rename(rank);
      name = to.tables.string(text.replace(begin, end - begin, std::to_string(rank)));
    }
  };
  renumber(rename, from.job.world_size, to.tables, to.collectives);
  for (snapshot::NodeCapture& node : to.nodes) {
    std::for_each(node.expected_ranks.begin(), node.expected_ranks.end(), rename);
  }
  for (ProcessCapture& process : to.processes) {
    rename(process.rank);
    for (snapshot::ProcessGroup& group : process.groups) {
      group.members = renamed_members(group.members, rename, to.tables);
    }
    for (snapshot::BootstrapRoot& root : process.roots) {  // of all ranks
      root.absent = renamed_members(root.absent, rename, to.tables);
      root.unclear = renamed_members(root.unclear, rename, to.tables);
    }
    for (snapshot::ThreadCapture& thread : process.threads) {
      rename_end(thread.wait.rare.edit().key);
      for (snapshot::PythonLoop& loop : thread.loops) {
        for (snapshot::LoopCall& call : loop.calls) {
          rename_end(call.object);
        }
      }
      if (!thread.call) {
        continue;
      }
      rename(thread.call->peer);
      rename(thread.call->root);
      thread.call->members = renamed_members(thread.call->members, rename, to.tables);
    }
  }
  return to;
}

std::vector<Capture> parts_of(const Capture& whole) {
  std::vector<Capture> parts;
  for (std::uint32_t node = 0; node < whole.nodes.size(); ++node) {
    Capture part;
    part.job = whole.job;
    part.nodes = {whole.nodes[node]};
    Carrier carrier(whole.tables, part.tables);
    for (const ProcessCapture& process : whole.processes) {
      if (process.node == node) {
        part.processes.push_back(carrier.row(process));
        part.processes.back().node = 0;
      }
    }
    carry_devices(whole, carrier, part, [node](std::uint32_t of) {
      return of == node ? std::optional<std::uint32_t>(0) : std::nullopt;
    });
    parts.push_back(std::move(part));
  }
  return parts;
}

Capture renamed_user_code(const Capture& from) {
  Capture to = copy_of(from);
  for (ProcessCapture& process : to.processes) {
    for (ThreadCapture& thread : process.threads) {
      for (snapshot::ThreadSample& sample : thread.samples.stored()) {
        sample.stack = with_other_names(to.tables, sample.stack);
        sample.python_stack = with_other_names(to.tables, sample.python_stack);
      }
      for (snapshot::PythonLoop& loop : thread.loops) {
        for (snapshot::LoopCall& call : loop.calls) {
          const auto named = snapshot::named_call(to.tables.text(call.name), false);
          if (named.owner.empty() && snapshot::asked_by(named)) {
            call.name = to.tables.string("f" + number_of(call.name));
          }
        }
      }
    }
  }
  return to;
}

void unread(ProcessCapture& process) {
  process.threads.clear();
  process.groups.clear();
  process.connections.clear();
  process.transfers.clear();
  process.proxies.clear();
  process.heads.clear();
  process.roots.clear();
  process.read = snapshot::ReadState::kNone;
  process.state = '?';
}

namespace {

// What an earlier sample found.
void forget_first(SlimVector<snapshot::PythonLoop>& loops) {
  for (snapshot::PythonLoop& loop : loops) {
    loop.left_before = -1;
  }
}

}  // namespace

Capture once(const Capture& from) {
  Capture to = copy_of(from);
  for (ProcessCapture& process : to.processes) {
    for (snapshot::ThreadCapture& thread : process.threads) {
      if (!thread.samples.empty()) {
        thread.samples = {thread.samples.back()};
      }
      forget_first(thread.loops);
    }
  }
  return to;
}

void stand_still(Capture& capture) {
  constexpr std::int64_t kMinuteMs = 60'000;
  for (ProcessCapture& process : capture.processes) {
    for (ThreadCapture& thread : process.threads) {
      snapshot::ThreadSample last = thread.samples.back();
      last.locals_changed = false;
      forget_first(thread.loops);
      thread.samples = snapshot::SampleList(thread.samples.size(), last);
      if (last.state == 'S') {
        thread.wait.quiet_ms = std::max(thread.wait.quiet_ms, kMinuteMs);
      }
    }
  }
}

void make_late(Capture& capture, std::int32_t rank) {
  ProcessCapture& process = *process_of(capture, rank);
  snapshot::Tables& tables = capture.tables;
  snapshot::Frame frame;
  frame.kind = snapshot::FrameKind::kPython;
  frame.function = tables.string("evaluate");
  frame.file = tables.string("/home/ada/demo/evaluation.py");
  frame.line = 81;
  const snapshot::StackId stack = tables.stack(snapshot::Stack{.frames = {tables.frame(frame)}});
  ThreadCapture main;
  main.tid = process.pid;
  main.has_python = true;
  main.samples = snapshot::SampleList(2, {.stack = stack, .state = 'S'});
  main.wait.syscall_name = tables.string("clock_nanosleep");
  process.threads = {main};
  process.state = 'S';
  process.ending = {};
}

std::vector<Fact> facts() {
  return {
      {"what it waits for",
       [](ProcessCapture& process) {
         for (ThreadCapture& thread : process.threads) {
           thread.wait = {};
         }
       }},
      {"who holds what it waits for",
       [](ProcessCapture& process) {
         for (ThreadCapture& thread : process.threads) {
           thread.wait.holder_pid = 0;
           thread.wait.holder_tid = 0;
           thread.wait.holder_alive = snapshot::Known::kUnknown;
           thread.wait.detail = {};
           thread.wait.how = snapshot::WaitHow::kDescribed;
           thread.wait.lock = {};
           thread.wait.rare.edit().about = snapshot::WaitAbout::kNobody;
           thread.wait.rare.edit().pool = {};
         }
       }},
      {"which file, address or kernel function it is about",
       [](ProcessCapture& process) {
         for (ThreadCapture& thread : process.threads) {
           thread.wait.path = {};
           thread.wait.rare.edit().local = {};
           thread.wait.rare.edit().peer = {};
           thread.wait.address = 0;
           thread.wait.wchan = {};
           thread.wait.rare.edit().awaited.clear();
         }
         process.connections.clear();
       }},
      {"the call that it is in",
       [](ProcessCapture& process) {
         for (ThreadCapture& thread : process.threads) {
           thread.call.reset();
         }
       }},
      {"the group of its call",
       [](ProcessCapture& process) {
         for (ThreadCapture& thread : process.threads) {
           if (thread.call) {
             thread.call->group = {};
             thread.call->members = {};
             thread.call->whole_world = false;
           }
         }
         process.groups.clear();
       }},
      {"the number of its call",
       [](ProcessCapture& process) {
         for (ThreadCapture& thread : process.threads) {
           if (thread.call) {
             thread.call->sequence = -1;
           }
         }
       }},
      {"its stacks",
       [](ProcessCapture& process) {
         for (ThreadCapture& thread : process.threads) {
           for (snapshot::ThreadSample& sample : thread.samples.stored()) {
             sample.stack = {};
             sample.python_stack = {};
           }
           thread.locals.clear();
           thread.loops.clear();
         }
         process.read = snapshot::ReadState::kPartial;
       }},
      {"its threads but the main one",
       [](ProcessCapture& process) {
         process.threads.resize(std::min<std::size_t>(process.threads.size(), 1));
       }},
      {"its other looks",
       [](ProcessCapture& process) {
         for (ThreadCapture& thread : process.threads) {
           if (!thread.samples.empty()) {
             thread.samples = {thread.samples.back()};
           }
         }
       }},
      {"who has the GIL",
       [](ProcessCapture& process) {
         for (ThreadCapture& thread : process.threads) {
           thread.holds_gil = false;
           thread.wants_gil = false;
         }
       }},
      {"its environment", [](ProcessCapture& process) { process.environment.clear(); }},
  };
}

ProcessCapture* process_of(Capture& capture, std::int32_t rank) {
  const auto at = std::find_if(
      capture.processes.begin(), capture.processes.end(),
      [rank](const ProcessCapture& process) { return process.is_rank && process.rank == rank; });
  return at == capture.processes.end() ? nullptr : &*at;
}

void stand_as(Capture& capture, std::int32_t rank, std::int32_t other) {
  const pid_t pid = process_of(capture, rank)->pid;
  const std::uint32_t node = process_of(capture, rank)->node;
  std::erase_if(capture.processes, [pid, node](const ProcessCapture& process) {
    return !process.is_rank && process.owner == pid && process.node == node;
  });
  const ProcessCapture from = *process_of(capture, other);
  ProcessCapture& to = *process_of(capture, rank);
  // Each process has its own thread numbers, even in waits for each other.
  const auto moved = [&](pid_t id) {
    return id >= from.pid && id < from.pid + 1000 ? to.pid + (id - from.pid) : id;
  };
  to.crash = from.crash;
  to.crash.edit().tid = moved(from.crash->tid);
  to.crash.edit().sender = moved(from.crash->sender);
  to.threads = from.threads;
  for (ThreadCapture& thread : to.threads) {
    thread.tid = moved(thread.tid);
    thread.wait.holder_tid = moved(thread.wait.holder_tid);
    thread.wait.holder_pid = thread.wait.holder_pid == from.pid ? to.pid : thread.wait.holder_pid;
  }
  to.state = from.state;
  to.read = from.read;
  to.groups = from.groups;
  for (ProcessCapture& process : capture.processes) {
    process.roots.clear();  // what NCCL's root has heard of the rank is not its place
  }
}

}  // namespace oddrank::tests
