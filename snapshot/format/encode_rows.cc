#include "snapshot/format/encode_rows.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "snapshot/format/collective_rows.h"
#include "snapshot/format/fields.h"
#include "snapshot/format/rows.h"

namespace oddrank::snapshot {
namespace {

// Texts of job and nodes are plain strings in memory and share the string table in the file, which
// holds every text once.
class Texts {
 public:
  explicit Texts(std::vector<std::string>& strings);
  StringId id_of(const std::string& text);

 private:
  std::vector<std::string>& strings_;
  std::unordered_map<std::string, StringId> ids_;
};

Texts::Texts(std::vector<std::string>& strings) : strings_(strings) {
  for (const std::string& text : strings_) {
    ids_.emplace(text, StringId{static_cast<std::uint32_t>(ids_.size())});
  }
}

StringId Texts::id_of(const std::string& text) {
  const auto [at, fresh] =
      ids_.emplace(text, StringId{static_cast<std::uint32_t>(strings_.size())});
  if (fresh) {
    strings_.push_back(text);
  }
  return at->second;
}

void encode_tables(const Tables& tables, Document& document) {
  for (const std::string& text : tables.strings()) {
    document.strings.push_back(text);
  }
  RowWriter frames(document.tables["frames"]);
  for (const Frame& frame : tables.frames()) {
    frame_fields(frames, frame);
  }
  RowWriter stacks(document.tables["stacks"]);
  RowWriter stack_frames(document.tables["stack_frames"]);
  for (const Stack& stack : tables.stacks()) {
    stack_fields(stacks, stack);
    stacks("frames", stack.frames.size());
    for (const FrameId frame : stack.frames) {
      stack_frames("frame", frame);
    }
  }
}

void encode_call(const CollectiveCall& call, Document& document) {
  RowWriter calls(document.tables["calls"]);
  call_fields(calls, call);
}

void encode_wait_facts(const Wait& wait, RowWriter& threads, Document& document) {
  const RareWaitFacts& rare = *wait.rare;
  wait_fields(threads, wait);
  wait_ends_fields(threads, rare);
  wait_facts_fields(threads, wait);
  rare_wait_fields(threads, rare);
  threads("awaited", rare.awaited.size());
  threads("pool_pids", rare.pool.pids.size());
  RowWriter files(document.tables["awaited_files"]);
  for (const AwaitedFile& file : rare.awaited) {
    awaited_file_fields(files, file);
  }
  RowWriter pids(document.tables["pool_pids"]);
  for (const pid_t pid : rare.pool.pids) {
    pids("pid", pid);
  }
}

void encode_loops(const SlimVector<PythonLoop>& loops, Document& document) {
  RowWriter rows(document.tables["loops"]);
  RowWriter calls(document.tables["loop_calls"]);
  for (const PythonLoop& loop : loops) {
    loop_fields(rows, loop);
    rows("calls", loop.calls.size());
    for (const LoopCall& call : loop.calls) {
      loop_call_fields(calls, call);
    }
  }
}

void encode_thread(const ThreadCapture& thread, Document& document) {
  RowWriter threads(document.tables["threads"]);
  thread_fields(threads, thread);
  encode_wait_facts(thread.wait, threads, document);
  threads("samples", thread.samples.size());
  threads("calls", thread.call ? 1 : 0);
  threads("locals", thread.locals.size());
  threads("wait_key", thread.wait.rare->key);
  threads("loops", thread.loops.size());
  interpreter_fields(threads, thread);
  collection_fields(threads, thread);
  encode_loops(thread.loops, document);
  RowWriter samples(document.tables["samples"]);
  for (const ThreadSample& sample : thread.samples) {
    sample_fields(samples, sample);
    sample_motion_fields(samples, sample);
  }
  if (thread.call) {
    encode_call(*thread.call, document);
  }
  RowWriter frame_locals(document.tables["frame_locals"]);
  RowWriter locals(document.tables["locals"]);
  for (const FrameLocals& of_frame : thread.locals) {
    frame_locals("frame", of_frame.frame);
    frame_locals("locals", of_frame.locals.size());
    for (const Local& local : of_frame.locals) {
      locals("name", local.name);
      locals("value", local.value);
    }
  }
}

void encode_task(const AsyncTask& task, Document& document) {
  RowWriter tasks(document.tables["tasks"]);
  task_fields(tasks, task);
  tasks("members", task.members.size());
  RowWriter members(document.tables["task_members"]);
  for (const StringId member : task.members) {
    members("name", member);
  }
}

void encode_processes(const Capture& capture, Document& document) {
  RowWriter processes(document.tables["processes"]);
  RowWriter environment(document.tables["environment"]);
  RowWriter setup(document.tables["setup"]);
  RowWriter groups(document.tables["groups"]);
  RowWriter counters(document.tables["group_counters"]);
  RowWriter connections(document.tables["connections"]);
  for (const ProcessCapture& process : capture.processes) {
    process_fields(processes, process);
    ending_fields(processes, process);
    library_fields(processes, process);
    processes("threads", process.threads.size());
    processes("environment", process.environment.size());
    processes("setup", process.setup.size());
    processes("groups", process.groups.size());
    processes("tasks", process.tasks.size());
    for (const auto& [name, value] : process.environment) {
      environment("name", name);
      environment("value", value);
    }
    for (const auto& [name, value] : process.setup) {
      setup("name", name);
      setup("value", value);
    }
    for (const ProcessGroup& group : process.groups) {
      group_fields(groups, group);
      group_place_fields(groups, group);
      groups("counters", group.counters.size());
      for (const GroupCounter& counter : group.counters) {
        group_counter_fields(counters, counter);
      }
    }
    processes("connections", process.connections.size());
    for (const Connection& connection : process.connections) {
      connection_fields(connections, connection);
    }
    for (const AsyncTask& task : process.tasks) {
      encode_task(task, document);
    }
    for (const ThreadCapture& thread : process.threads) {
      encode_thread(thread, document);
    }
  }
}

// Captures without a crash have no such table: readers that do not know it read them.
void encode_crashes(const std::vector<ProcessCapture>& processes, Document& document) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].crash->signal != 0) {
      RowWriter crashes(document.tables["crashes"]);
      crashes("process", i);
      crash_fields(crashes, *processes[i].crash);
    }
  }
}

// Only captures in which something does not get through have this table.
void encode_transfers(const std::vector<ProcessCapture>& processes, Document& document) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (const Transfer& transfer : processes[i].transfers) {
      RowWriter rows(document.tables["transfers"]);
      rows("process", i);
      transfer_fields(rows, transfer);
    }
  }
}

// Only captures in which the other side of a transfer is one of several have this table.
void encode_possible_peers(const std::vector<ProcessCapture>& processes, Document& document) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (std::size_t j = 0; j < processes[i].threads.size(); ++j) {
      const auto& call = processes[i].threads[j].call;
      if (call && call->peers != StringId{}) {
        RowWriter rows(document.tables["possible_peers"]);
        rows("process", i);
        rows("thread", j);
        rows("peers", call->peers);
      }
    }
  }
}

// Only captures in which a thread waits for several files at once have this table.
void encode_other_ends(const std::vector<ProcessCapture>& processes, Document& document) {
  const auto add = [&document](std::size_t process, std::size_t thread, const Wait& wait) {
    for (std::size_t i = 0; i < wait.rare->awaited.size(); ++i) {
      if (wait.rare->awaited[i].holder_pid != 0) {
        RowWriter rows(document.tables["other_ends"]);
        rows("process", process);
        rows("thread", thread);
        rows("file", i);
        rows("holder_pid", wait.rare->awaited[i].holder_pid);
      }
    }
  };
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (std::size_t j = 0; j < processes[i].threads.size(); ++j) {
      add(i, j, processes[i].threads[j].wait);
    }
  }
}

// Only captures in which a thread waits for a lock that processes share have this table.
void encode_shared_locks(const std::vector<ProcessCapture>& processes, Document& document) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (std::size_t j = 0; j < processes[i].threads.size(); ++j) {
      if (processes[i].threads[j].wait.lock.shared) {
        RowWriter rows(document.tables["shared_locks"]);
        rows("process", i);
        rows("thread", j);
      }
    }
  }
}

void encode_job(const JobInfo& job, Texts& texts, Document& document) {
  RowWriter row(document.tables["job"]);
  const auto text = [&](const char* name, const std::string& value) {
    row(name, texts.id_of(value));
  };
  text("id", job.id);
  text("name", job.name);
  text("user", job.user);
  text("state", job.state);
  text("output_path", job.output_path);
  row("source", job.source);
  row("world_size", job.world_size);
  row("elapsed_s", job.elapsed_s);
  row("time_left_s", job.time_left_s);
  row("hosts", job.hosts.size());
  RowWriter hosts(document.tables["job_hosts"]);
  for (const std::string& host : job.hosts) {
    hosts("host", texts.id_of(host));
  }
  row("notes", job.notes.size());
  RowWriter notes(document.tables["job_notes"]);
  for (const std::string& note : job.notes) {
    notes("text", texts.id_of(note));
  }
}

void encode_nodes(const std::vector<NodeCapture>& nodes, Texts& texts, Document& document) {
  RowWriter rows(document.tables["nodes"]);
  RowWriter expected(document.tables["expected_ranks"]);
  RowWriter notes(document.tables["notes"]);
  for (const NodeCapture& node : nodes) {
    rows("host", texts.id_of(node.host));
    rows("answered", node.answered);
    rows("why", texts.id_of(node.why));
    rows("took_us", node.took_us);
    rows("expected_ranks", node.expected_ranks.size());
    rows("notes", node.notes.size());
    for (const std::int32_t rank : node.expected_ranks) {
      expected("rank", rank);
    }
    for (const std::string& note : node.notes) {
      notes("text", texts.id_of(note));
    }
  }
}

}  // namespace

Document to_document(const Capture& capture) {
  Document document;
  encode_tables(capture.tables, document);
  Texts texts(document.strings);
  encode_job(capture.job, texts, document);
  encode_nodes(capture.nodes, texts, document);
  encode_processes(capture, document);
  encode_crashes(capture.processes, document);
  encode_transfers(capture.processes, document);
  encode_possible_peers(capture.processes, document);
  encode_other_ends(capture.processes, document);
  encode_shared_locks(capture.processes, document);
  encode_collectives(capture.collectives, document);
  return document;
}

}  // namespace oddrank::snapshot
