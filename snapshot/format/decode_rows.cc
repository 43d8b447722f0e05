#include "snapshot/format/decode_rows.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/format/collective_rows.h"
#include "snapshot/format/fields.h"
#include "snapshot/format/row_costs.h"
#include "snapshot/format/rows.h"
#include "snapshot/format/told_wait.h"

namespace oddrank::snapshot {
namespace {

constexpr int kFirstFormatWithTracers = 10;
constexpr int kFirstFormatWithLoops = 10;
constexpr int kFirstFormatWithEndings = 10;
constexpr int kFirstFormatWithLibraries = 12;
constexpr int kFirstFormatWithGenerations = 13;

// All tables of one document, read side by side: a parent row says how many rows of each child
// table are its own.
class Decoder {
 public:
  Decoder(ReadDocument document, int format, MemoryBudget budget)
      : document_(std::move(document)),
        format_(format),
        budget_(budget),
        limits_{document_.strings.size(), rows_of("frames"), rows_of("stacks"), &budget_},
        frames_(reader("frames")),
        stacks_(reader("stacks")),
        stack_frames_(reader("stack_frames")),
        job_(reader("job")),
        job_hosts_(reader("job_hosts")),
        job_notes_(reader("job_notes")),
        nodes_(reader("nodes")),
        expected_ranks_(reader("expected_ranks")),
        notes_(reader("notes")),
        processes_(reader("processes")),
        environment_(reader("environment")),
        setup_(reader("setup")),
        groups_(reader("groups")),
        group_counters_(reader("group_counters")),
        connections_(reader("connections")),
        tasks_(reader("tasks")),
        task_members_(reader("task_members")),
        threads_(reader("threads")),
        awaited_files_(reader("awaited_files")),
        pool_pids_(reader("pool_pids")),
        samples_(reader("samples")),
        calls_(reader("calls")),
        frame_locals_(reader("frame_locals")),
        locals_(reader("locals")),
        loops_(reader("loops")),
        loop_calls_(reader("loop_calls")),
        crashes_(reader("crashes")),
        transfers_(reader("transfers")),
        possible_peers_(reader("possible_peers")),
        other_ends_(reader("other_ends")),
        shared_locks_(reader("shared_locks")),
        collectives_(document_, limits_, format) {}

  Result<Capture> run();

 private:
  std::size_t rows_of(std::string_view name) const;
  RowReader reader(std::string_view name) const { return {name, document_, limits_}; }
  // Returns how many bytes of text a frame has when it is printed.
  std::size_t bytes_of(const Frame& frame) const;
  std::string text(StringId id) const {
    return std::string(document_.strings[static_cast<std::size_t>(id)]);
  }

  // Takes room for the frames of a stack wherever rows refer to it.
  void take_stack(RowReader& rows, StackId stack, std::size_t cost_of_frame);
  void decode_tables();
  void decode_job();
  void decode_nodes();
  void decode_processes();
  void decode_crashes();
  void decode_transfers();
  void decode_possible_peers();
  void decode_other_ends();
  void decode_shared_locks();
  RareWaitFacts decode_rare_facts();
  void decode_wait(Wait& wait);
  ThreadCapture decode_thread();
  CollectiveCall decode_call();
  FrameLocals decode_frame_locals();
  PythonLoop decode_loop();
  AsyncTask decode_task();
  ProcessGroup decode_group();
  Result<Capture> finish();

  ReadDocument document_;
  int format_;
  MemoryBudget budget_;
  std::vector<std::size_t> stack_bytes_;  // of text, by stack
  IdLimits limits_;
  RowReader frames_, stacks_, stack_frames_, job_, job_hosts_, job_notes_, nodes_, expected_ranks_,
      notes_, processes_, environment_, setup_, groups_, group_counters_, connections_, tasks_,
      task_members_, threads_, awaited_files_, pool_pids_, samples_, calls_, frame_locals_, locals_,
      loops_, loop_calls_, crashes_, transfers_, possible_peers_, other_ends_, shared_locks_;
  CollectiveDecoder collectives_;
  // How many columns the rare facts of the last thread were read from, if it has none; or else 0.
  std::size_t empty_columns_ = 0;
  Capture capture_;
};

Result<Capture> Decoder::run() {
  decode_tables();
  decode_job();
  decode_nodes();
  decode_processes();
  decode_crashes();
  decode_transfers();
  decode_possible_peers();
  decode_other_ends();
  decode_shared_locks();
  capture_.collectives = collectives_.run(capture_.nodes.size());
  return finish();
}

std::size_t Decoder::rows_of(std::string_view name) const {
  const ReadTable* table = document_.table(name);
  return table == nullptr || table->columns.empty() ? 0 : table->columns.front().size;
}

std::size_t Decoder::bytes_of(const Frame& frame) const {
  std::size_t bytes = 0;
  for (const StringId id : {frame.function, frame.file, frame.source, frame.build_id}) {
    bytes += document_.strings[static_cast<std::size_t>(id)].size();
  }
  return bytes;
}

void Decoder::take_stack(RowReader& rows, StackId stack, std::size_t cost_of_frame) {
  if (!rows.problem().empty() || !capture_.tables.stacks().contains(stack)) {
    return;
  }
  const auto at = static_cast<std::size_t>(stack);
  const bool shown = cost_of_frame >= kCostOfShownFrame && at < stack_bytes_.size();
  const std::size_t bytes = shown ? stack_bytes_[at] : 0;
  if (!budget_.take(capture_.tables.stacks()[stack].frames.size(), cost_of_frame) ||
      !budget_.take(bytes)) {
    rows.refuse("its stacks have more frames than a capture of its size may show");
  }
}

// Tables intern, so an id of the file equals the id in memory only if no row occurs twice.
void Decoder::decode_tables() {
  Tables& tables = capture_.tables;
  tables.reserve(document_.strings.size(), frames_.rows(), stacks_.rows());
  for (const std::string_view string : document_.strings) {
    tables.string(string);
  }
  while (frames_.next()) {
    Frame frame;
    frame_fields(frames_, frame);
    tables.frame(frame);
  }
  while (stacks_.next()) {
    Stack stack;
    std::size_t bytes = 0;
    stack_fields(stacks_, stack);
    each_row(stacks_, "frames", stack_frames_, [&] {
      FrameId frame{};
      stack_frames_("frame", frame);
      stack.frames.push_back(frame);
      bytes += bytes_of(tables.frames().contains(frame) ? tables.frame(frame) : Frame());
    });
    tables.stack(stack);
    stack_bytes_.push_back(bytes);
  }
  if (tables.strings().size() != document_.strings.size()) {
    frames_.refuse("a text stands in the string table twice");
  }
  if (tables.frames().size() != frames_.rows()) {
    frames_.refuse("a row stands there twice");
  }
  if (tables.stacks().size() != stacks_.rows()) {
    stacks_.refuse("a row stands there twice");
  }
}

void Decoder::decode_job() {
  if (!step_row(job_)) {
    return;
  }
  const auto take_text = [&](const char* name, std::string& value) {
    StringId id{};
    job_(name, id);
    value = text(id);
  };
  JobInfo& job = capture_.job;
  take_text("id", job.id);
  take_text("name", job.name);
  take_text("user", job.user);
  take_text("state", job.state);
  take_text("output_path", job.output_path);
  job_("source", job.source);
  job_("world_size", job.world_size);
  job_("elapsed_s", job.elapsed_s);
  job_("time_left_s", job.time_left_s);
  each_row(job_, "hosts", job_hosts_, [&] {
    StringId host{};
    job_hosts_("host", host);
    job.hosts.push_back(text(host));
  });
  each_row(job_, "notes", job_notes_, [&] {
    StringId note{};
    job_notes_("text", note);
    job.notes.push_back(text(note));
  });
}

void Decoder::decode_nodes() {
  while (nodes_.next()) {
    NodeCapture node;
    StringId host{};
    StringId why{};
    nodes_("host", host);
    nodes_("answered", node.answered);
    nodes_("why", why);
    nodes_("took_us", node.took_us);
    node.host = text(host);
    node.why = text(why);
    each_row(nodes_, "expected_ranks", expected_ranks_,
             [&] { expected_ranks_("rank", node.expected_ranks.emplace_back()); });
    each_row(nodes_, "notes", notes_, [&] {
      StringId note{};
      notes_("text", note);
      node.notes.push_back(text(note));
    });
    capture_.nodes.push_back(std::move(node));
  }
}

CollectiveCall Decoder::decode_call() {
  CollectiveCall call;
  call_fields(calls_, call);
  return call;
}

FrameLocals Decoder::decode_frame_locals() {
  FrameLocals of_frame;
  frame_locals_("frame", of_frame.frame);
  rows_into(frame_locals_, "locals", locals_, of_frame.locals, [&] {
    Local local;
    locals_("name", local.name);
    locals_("value", local.value);
    return local;
  });
  return of_frame;
}

PythonLoop Decoder::decode_loop() {
  PythonLoop loop;
  loop_fields(loops_, loop);
  each_row(loops_, "calls", loop_calls_,
           [&] { loop_call_fields(loop_calls_, loop.calls.emplace_back()); });
  if (loop.calls.size() > kMaxLoopCalls) {
    loops_.refuse("a loop with more calls than are listed");
  }
  return loop;
}

RareWaitFacts Decoder::decode_rare_facts() {
  RareWaitFacts rare;
  wait_ends_fields(threads_, rare);
  if (format_ >= kFirstFormatWithFacts) {
    rare_wait_fields(threads_, rare);
    rows_into(threads_, "awaited", awaited_files_, rare.awaited, [&] {
      AwaitedFile file;
      awaited_file_fields(awaited_files_, file);
      return file;
    });
    rows_into(threads_, "pool_pids", pool_pids_, rare.pool.pids, [&] {
      pid_t pid = 0;
      pool_pids_("pid", pid);
      return pid;
    });
    if (rare.awaited.size() > kMaxAwaited || rare.pool.pids.size() > kMaxPoolPids) {
      threads_.refuse("a wait for more files or processes than are listed");
    }
  }
  if (format_ >= kFirstFormatWithLoops) {
    threads_("wait_key", rare.key);
  }
  return rare;
}

// Most captures have no rare facts at all. Then all rows after the first pass over them.
void Decoder::decode_wait(Wait& wait) {
  wait_fields(threads_, wait);
  if (format_ >= kFirstFormatWithFacts) {
    wait_facts_fields(threads_, wait);
  }
  if (!threads_.skip_same(empty_columns_)) {
    const std::size_t before = threads_.values_read();
    wait.rare = decode_rare_facts();
    empty_columns_ = wait.rare.is_default() ? threads_.values_read() - before : 0;
  }
  if (format_ < kFirstFormatWithFacts) {
    facts_of_told_wait(capture_.tables, wait);
  }
}

ThreadCapture Decoder::decode_thread() {
  ThreadCapture thread;
  thread_fields(threads_, thread);
  decode_wait(thread.wait);
  each_row(threads_, "samples", samples_, [&] {
    ThreadSample sample;
    sample_fields(samples_, sample);
    if (format_ >= kFirstFormatWithTracers) {
      sample_motion_fields(samples_, sample);
    }
    take_stack(samples_, sample.stack, kCostOfSampledFrame);
    take_stack(samples_, sample.python_stack, kCostOfSampledFrame);
    thread.samples.push_back(sample);
  });
  if (thread.samples.empty()) {
    threads_.refuse("a thread without a sample");
  } else {
    const bool listed = threads_.rows() <= kMaxShownThreads;
    take_stack(threads_, thread.samples.back().stack,
               listed ? kCostOfShownFrame : kCostOfSampledFrame);
  }
  each_row(threads_, "calls", calls_, [&] { thread.call = decode_call(); });
  rows_into(threads_, "locals", frame_locals_, thread.locals,
            [&] { return decode_frame_locals(); });
  if (format_ >= kFirstFormatWithLoops) {
    each_row(threads_, "loops", loops_, [&] { thread.loops.push_back(decode_loop()); });
    if (thread.loops.size() > kMaxLoops) {
      threads_.refuse("a thread in more loops than are listed");
    }
  }
  if (format_ >= kFirstFormatWithLibraries) {
    interpreter_fields(threads_, thread);
  }
  if (format_ >= kFirstFormatWithGenerations) {
    collection_fields(threads_, thread);
  }
  return thread;
}

AsyncTask Decoder::decode_task() {
  AsyncTask task;
  task_fields(tasks_, task);
  take_stack(tasks_, task.stack, kCostOfTaskFrame);
  each_row(tasks_, "members", task_members_,
           [&] { task_members_("name", task.members.emplace_back()); });
  return task;
}

ProcessGroup Decoder::decode_group() {
  ProcessGroup group;
  group_fields(groups_, group);
  if (format_ >= kFirstFormatWithCounters) {
    group_place_fields(groups_, group);
    each_row(groups_, "counters", group_counters_,
             [&] { group_counter_fields(group_counters_, group.counters.emplace_back()); });
  }
  return group;
}

void Decoder::decode_processes() {
  while (processes_.next()) {
    ProcessCapture process;
    process_fields(processes_, process);
    if (format_ >= kFirstFormatWithEndings) {
      ending_fields(processes_, process);
    }
    if (format_ >= kFirstFormatWithLibraries) {
      library_fields(processes_, process);
    }
    if (process.node >= capture_.nodes.size()) {
      processes_.refuse("a process is on a node that does not exist");
    }
    each_row(processes_, "environment", environment_, [&] {
      auto& [name, value] = process.environment.emplace_back();
      environment_("name", name);
      environment_("value", value);
    });
    if (format_ >= kFirstFormatWithLibraries) {
      each_row(processes_, "setup", setup_, [&] {
        auto& [name, value] = process.setup.emplace_back();
        setup_("name", name);
        setup_("value", value);
      });
    }
    rows_into(processes_, "groups", groups_, process.groups, [&] { return decode_group(); });
    each_row(processes_, "connections", connections_,
             [&] { connection_fields(connections_, process.connections.emplace_back()); });
    rows_into(processes_, "tasks", tasks_, process.tasks, [&] { return decode_task(); });
    rows_into(processes_, "threads", threads_, process.threads, [&] { return decode_thread(); });
    capture_.processes.push_back(std::move(process));
  }
}

void Decoder::decode_crashes() {
  std::size_t process = 0;
  while (crashes_.next()) {
    crashes_("process", process);
    Crash crash;
    crash_fields(crashes_, crash);
    if (process < capture_.processes.size()) {
      capture_.processes[process].crash = crash;
    } else {
      crashes_.refuse("a crash is of a process that does not exist");
    }
  }
}

void Decoder::decode_transfers() {
  std::size_t process = 0;
  while (transfers_.next()) {
    transfers_("process", process);
    Transfer transfer;
    transfer_fields(transfers_, transfer);
    if (process < capture_.processes.size()) {
      capture_.processes[process].transfers.push_back(transfer);
    } else {
      transfers_.refuse("a transfer is of a process that does not exist");
    }
  }
}

void Decoder::decode_possible_peers() {
  std::size_t process = 0;
  std::size_t thread = 0;
  StringId peers{};
  while (possible_peers_.next()) {
    possible_peers_("process", process);
    possible_peers_("thread", thread);
    possible_peers_("peers", peers);
    if (process < capture_.processes.size() &&
        thread < capture_.processes[process].threads.size() &&
        capture_.processes[process].threads[thread].call) {
      capture_.processes[process].threads[thread].call->peers = peers;
    } else {
      possible_peers_.refuse("possible peers are of a call that does not exist");
    }
  }
}

void Decoder::decode_other_ends() {
  std::size_t process = 0;
  std::size_t thread = 0;
  std::size_t file = 0;
  pid_t holder = 0;
  while (other_ends_.next()) {
    other_ends_("process", process);
    other_ends_("thread", thread);
    other_ends_("file", file);
    other_ends_("holder_pid", holder);
    if (process < capture_.processes.size() &&
        thread < capture_.processes[process].threads.size() &&
        file < capture_.processes[process].threads[thread].wait.rare->awaited.size()) {
      capture_.processes[process].threads[thread].wait.rare.edit().awaited[file].holder_pid =
          holder;
    } else {
      other_ends_.refuse("an other end is of a file that does not exist");
    }
  }
}

void Decoder::decode_shared_locks() {
  std::size_t process = 0;
  std::size_t thread = 0;
  while (shared_locks_.next()) {
    shared_locks_("process", process);
    shared_locks_("thread", thread);
    if (process < capture_.processes.size() &&
        thread < capture_.processes[process].threads.size()) {
      capture_.processes[process].threads[thread].wait.lock.shared = true;
    } else {
      shared_locks_.refuse("a shared lock is of a thread that does not exist");
    }
  }
}

Result<Capture> Decoder::finish() {
  std::vector<RowReader*> all = {&frames_,         &stacks_,       &stack_frames_, &job_,
                                 &job_hosts_,      &job_notes_,    &nodes_,        &notes_,
                                 &expected_ranks_, &processes_,    &environment_,  &groups_,
                                 &connections_,    &tasks_,        &task_members_, &threads_,
                                 &samples_,        &calls_,        &frame_locals_, &locals_,
                                 &awaited_files_,  &pool_pids_,    &loops_,        &loop_calls_,
                                 &group_counters_, &setup_,        &crashes_,      &possible_peers_,
                                 &other_ends_,     &shared_locks_, &transfers_};
  const auto beside = collectives_.tables();
  all.insert(all.end(), beside.begin(), beside.end());
  std::size_t known = 0;
  for (RowReader* table : all) {
    if (table->problem().empty() && table->next()) {
      table->refuse("more rows than are counted");
    }
    table->check_columns();
    if (!table->problem().empty()) {
      return fail(Errc::kBadData, table->problem());
    }
    known += table->present() ? 1 : 0;
  }
  if (known != document_.tables.size()) {
    return fail(Errc::kBadData, "it has tables that this version does not know");
  }
  return std::move(capture_);
}

}  // namespace

Result<Capture> from_document(ReadDocument document, int format, MemoryBudget budget) {
  // The document itself.
  budget.take(document.numbers.size(), sizeof(std::int64_t));
  budget.take(document.strings.size(), sizeof(std::string_view));
  ODDRANK_TRY_STATUS(take_rows(document, budget));
  if (document.strings.empty() || !document.strings.front().empty()) {
    return fail(Errc::kBadData, "its string table does not begin with the empty text");
  }
  return Decoder(std::move(document), format, budget).run();
}

}  // namespace oddrank::snapshot
