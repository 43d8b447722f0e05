#include "stacks/collect.h"

#include <sys/syscall.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "cpython/tasks/await_members.h"
#include "cpython/thread_state.h"
#include "stacks/compiled_python.h"
#include "stacks/convert_frames.h"
#include "stacks/greenlets.h"
#include "stacks/merge.h"
#include "stacks/reading.h"

namespace oddrank::stacks {
namespace {

using snapshot::StackEnd;

// Per process; the main thread's come first.
constexpr std::size_t kMaxLocals = 4096;

// Returns what is missing in the tasks' chains and members; "" if nothing is.
std::string cut_words(const std::vector<cpython::PythonTask>& tasks) {
  const auto with = [&tasks](bool cpython::PythonTask::*cut) {
    return static_cast<std::size_t>(
        std::count_if(tasks.begin(), tasks.end(), [cut](const auto& task) { return task.*cut; }));
  };
  std::string words;
  if (const std::size_t chains = with(&cpython::PythonTask::cut); chains > 0) {
    words = count_of(chains, "task") + " with more than " + std::to_string(cpython::kMaxAwaits) +
            " coroutines: the innermost are not shown";
  }
  if (const std::size_t members = with(&cpython::PythonTask::members_cut); members > 0) {
    words = join_clauses(words, count_of(members, "task") + " with more than " +
                                    std::to_string(cpython::kMaxAwaited) +
                                    " others to wait for: the rest are not listed");
  }
  return words;
}

// Converts readings to rows of a capture.
class Collector {
 public:
  Collector(ProcessReader& reader,
            const CollectOptions& options,
            snapshot::Tables& tables,
            snapshot::ProcessCapture& process);

  void add(const std::vector<Reading>& readings);

 private:
  void add_sample(const Reading& reading);
  MergedFrames merged_frames(const Reading& reading);
  void add_locals(const Reading& reading,
                  const std::vector<std::size_t>& python_index,
                  snapshot::ThreadCapture& thread);
  void add_loops(const Reading& reading,
                 const std::vector<std::size_t>& python_index,
                 snapshot::ThreadCapture& thread);
  static void add_places(const Reading& reading,
                         const std::vector<std::size_t>& python_index,
                         snapshot::ThreadCapture& thread);
  snapshot::StringId masked(const std::string& text);
  snapshot::ThreadCapture& row_of(const attach::ThreadState& state);
  StackEnd end_of(const Reading& reading) const;
  void note_gil(const Reading& reading, snapshot::ThreadCapture& thread) const;
  void add_tasks(const std::vector<Reading>& readings);
  void add_left_behind();
  void note_cut(const std::string& words);
  void note_cuts();
  void judge(const Reading& main);

  ProcessReader& reader_;
  const CollectOptions& options_;
  snapshot::Tables& tables_;
  snapshot::ProcessCapture& process_;
  FrameConverter converter_;
  std::unordered_map<pid_t, std::size_t> rows_;  // by tid: index into process_.threads
  std::vector<cpython::Gil> gils_;
  std::size_t locals_ = 0;
  std::size_t without_locals_ = 0;  // frames
  std::string cut_;                 // what is missing of tasks, threads and variables
};

static_assert(cpython::kMaxCallsOfLoop <= snapshot::kMaxLoopCalls);

snapshot::TaskState state_of(cpython::TaskState state) {
  switch (state) {
    case cpython::TaskState::kNotStarted:
      return snapshot::TaskState::kNotStarted;
    case cpython::TaskState::kWaits:
      return snapshot::TaskState::kWaits;
    case cpython::TaskState::kRuns:
      return snapshot::TaskState::kRuns;
    case cpython::TaskState::kParked:
      return snapshot::TaskState::kParked;
    default:
      return snapshot::TaskState::kUnknown;
  }
}

Collector::Collector(ProcessReader& reader,
                     const CollectOptions& options,
                     snapshot::Tables& tables,
                     snapshot::ProcessCapture& process)
    : reader_(reader),
      options_(options),
      tables_(tables),
      process_(process),
      converter_(
          reader.modules(),
          tables,
          reader.python() ? reader.python()->evaluation_ranges() : std::vector<elf::ElfRange>()) {
  for (std::size_t i = 0; i < process.threads.size(); ++i) {
    rows_.emplace(process.threads[i].tid, i);
  }
}

snapshot::ThreadCapture& Collector::row_of(const attach::ThreadState& state) {
  auto& threads = process_.threads;
  const auto [at, fresh] = rows_.emplace(state.tid, threads.size());
  if (fresh) {
    threads.emplace_back().tid = state.tid;
  }
  threads[at->second].name = tables_.string(state.name);
  return threads[at->second];
}

StackEnd Collector::end_of(const Reading& reading) const {
  if (reading.gone || is_dead(reading.state)) {
    return StackEnd::kGone;
  }
  if (reading.state.state == 'R' && reading.native.frames.empty()) {
    return reading.torn ? StackEnd::kRunningTorn : StackEnd::kRunning;
  }
  if (reading.moved) {
    return StackEnd::kTorn;
  }
  // A merged stack is only as complete as the less complete of the two.
  const bool native_says = reading.native.end != StackEnd::kComplete;
  if (reading.python && reading.python->cut && (!native_says || reading.native.frames.empty())) {
    return reading.python->too_long ? StackEnd::kLimit : StackEnd::kBadMemory;
  }
  return reading.native.end;
}

// A thread that sleeps on a futex inside a GIL wants that GIL, whether or not it runs Python code.
// It cannot also hold it: if both were read, the GIL changed hands in between.
void Collector::note_gil(const Reading& reading, snapshot::ThreadCapture& thread) const {
  const auto& syscall = reading.state.syscall;
  const bool in_futex = syscall && syscall->number == SYS_futex;
  const auto gil = std::find_if(gils_.begin(), gils_.end(), [&](const cpython::Gil& one) {
    return in_futex && syscall->arguments[0] - one.words.address < one.words.size;
  });
  thread.wants_gil = gil != gils_.end();
  thread.holds_gil = !thread.wants_gil && reading.python && reading.python->holds_gil;
  thread.gil = thread.wants_gil ? gil->interpreter : thread.holds_gil ? reading.python->gil : 0;
}

void Collector::add_locals(const Reading& reading,
                           const std::vector<std::size_t>& python_index,
                           snapshot::ThreadCapture& thread) {
  const auto& frames = reading.python->frames;
  without_locals_ += reading.python->without_locals;
  for (std::size_t i = 0; i < frames.size() && i < python_index.size(); ++i) {
    if (frames[i].locals.empty()) {
      continue;
    }
    if (locals_ >= kMaxLocals) {
      without_locals_ += options_.locals == cpython::Locals::kAll ? 1 : 0;
      continue;
    }
    snapshot::FrameLocals of_frame;
    of_frame.frame = static_cast<std::uint32_t>(python_index[i]);
    for (const cpython::PythonLocal& local : frames[i].locals) {
      const bool to_mask = !local.masked && options_.mask_text != nullptr &&
                           local.value.find('\'') != std::string::npos;
      of_frame.locals.push_back(
          {tables_.string(local.name),
           tables_.string(to_mask ? options_.mask_text(local.value) : local.value)});
    }
    locals_ += of_frame.locals.size();
    thread.locals.push_back(std::move(of_frame));
  }
}

snapshot::StringId Collector::masked(const std::string& text) {
  return tables_.string(options_.mask_text == nullptr ? text : options_.mask_text(text));
}

void Collector::add_loops(const Reading& reading,
                          const std::vector<std::size_t>& python_index,
                          snapshot::ThreadCapture& thread) {
  const auto& frames = reading.python->frames;
  for (std::size_t i = 0; i < frames.size() && i < python_index.size(); ++i) {
    for (const cpython::FrameLoop& loop : frames[i].loops) {
      if (thread.loops.size() == snapshot::kMaxLoops) {
        return;
      }
      snapshot::PythonLoop& row = thread.loops.emplace_back();
      row.frame = static_cast<std::uint32_t>(python_index[i]);
      row.iterates = loop.iterates;
      row.endless = loop.endless;
      row.cut = loop.cut;
      row.left = loop.left.value_or(-1);
      for (const cpython::FrameCall& call : loop.calls) {
        row.calls.push_back(
            {.name = tables_.string(call.name),
             .object = masked(call.object),
             .ends = call.ends,
             .may_end = call.may_end ? snapshot::Known::kYes : snapshot::Known::kNo});
      }
    }
  }
}

void Collector::add_places(const Reading& reading,
                           const std::vector<std::size_t>& python_index,
                           snapshot::ThreadCapture& thread) {
  const auto& frames = reading.python->frames;
  for (std::size_t i = 0; i < frames.size() && i < python_index.size(); ++i) {
    if (!frames[i].place || thread.places.size() == snapshot::kMaxPlaces) {
      continue;
    }
    const cpython::FramePlace& place = *frames[i].place;
    snapshot::FramePlace& row = thread.places.emplace_back();
    row.frame = static_cast<std::uint32_t>(python_index[i]);
    for (const cpython::LoopTurn& turn : place.turns) {
      row.turns.push_back({turn.line, turn.left, turn.retries});
    }
    for (const cpython::LineRange& range : place.passed) {
      row.passed.push_back({range.first, range.last});
    }
  }
}

MergedFrames Collector::merged_frames(const Reading& reading) {
  const auto native = converter_.native(reading.native);
  const auto python =
      reading.python ? converter_.python(reading.python->frames) : std::vector<snapshot::Frame>();
  const bool complete = reading.native.end == StackEnd::kComplete && !reading.moved;
  MergedFrames merged = merge(native, python, complete);
  if (merged.state == snapshot::MergeState::kMismatch) {
    if (auto own = apart_from_parked(native, tables_)) {
      auto again = merge(*std::move(own), python, true);
      merged = again.state == snapshot::MergeState::kMerged ? std::move(again) : std::move(merged);
    }
  }
  const bool odd_end = reading.python && !reading.python->whole && !reading.python->cut;
  if (merged.state == snapshot::MergeState::kMismatch && odd_end && complete) {
    if (auto again = merge_compiled(native, python, tables_)) {
      merged = *std::move(again);
    }
  }
  return merged;
}

void Collector::add_sample(const Reading& reading) {
  snapshot::ThreadCapture& thread = row_of(reading.state);
  thread.has_python = reading.python.has_value();
  note_gil(reading, thread);
  thread.collects_garbage = reading.python && reading.python->collects;
  thread.gc_generation = reading.python ? reading.python->generation : std::int8_t{-1};
  thread.ends_interpreter = reading.python && reading.python->finalizes;
  if (reading.python && !reading.python->name.empty()) {
    thread.python_name = tables_.string(reading.python->name);
  }
  const StackEnd end = end_of(reading);
  const MergedFrames merged = merged_frames(reading);
  const auto intern = [&](const std::vector<snapshot::Frame>& frames) {
    if (frames.empty()) {
      return snapshot::StackId{};
    }
    snapshot::Stack stack{{}, end, merged.state};
    stack.frames.reserve(frames.size());
    for (const snapshot::Frame& frame : frames) {
      stack.frames.push_back(tables_.frame(frame));
    }
    return tables_.stack(stack);
  };
  snapshot::ThreadSample sample;
  sample.stack = intern(merged.frames);
  sample.python_stack = intern(merged.python_frames);
  sample.state = reading.state.state;
  sample.cpu_us = reading.state.cpu_us;
  sample.voluntary_switches = reading.state.voluntary_switches;
  sample.involuntary_switches = reading.state.involuntary_switches;
  sample.stopped = reading.held;
  sample.tracer = reading.state.tracer;
  thread.samples.push_back(sample);
  thread.locals.clear();
  thread.loops.clear();
  thread.places.clear();
  if (reading.python) {
    add_locals(reading, merged.python_index, thread);
    add_loops(reading, merged.python_index, thread);
    add_places(reading, merged.python_index, thread);
  }
}

// Returns whether a thread of Python's runs an event loop of asyncio or trio: then the tasks tell
// what the process waits for.
bool has_event_loop(const std::vector<Reading>& readings) {
  return std::ranges::any_of(readings, [](const Reading& reading) {
    return reading.python &&
           std::ranges::any_of(reading.python->frames, [](const cpython::PythonFrame& frame) {
             return frame.file.ends_with("/asyncio/base_events.py") ||
                    frame.file.ends_with("/asyncio/runners.py") ||
                    frame.file.ends_with("/trio/_core/_run.py");
           });
  });
}

// Returns whether the task may owe an answer, or wait for one: it has a connection.
bool is_connected(const cpython::PythonTask& task) {
  return task.sockets.awaited >= 0 || !task.sockets.kept.empty();
}

// Returns whether it waits at the only connection that it has, like a task of a server that has
// nothing to do.
bool rests_at_connection(const cpython::PythonTask& task) {
  return task.sockets.awaited >= 0 && task.sockets.kept.size() <= 1;
}

// Keeps the tasks for which threads wait, the tasks that have connections (only the first few of
// those that belong to servers), the tasks for which these wait, and so on.
void keep_awaited(std::vector<cpython::PythonTask>& tasks) {
  constexpr std::size_t kMaxAwaitedTasks = 64;
  constexpr std::size_t kMaxResting = 8;
  std::size_t resting = 0;
  std::unordered_set<std::string_view> awaited;
  std::vector<const cpython::PythonTask*> todo;
  const auto add = [&](const cpython::PythonTask& task) {
    if (awaited.size() < kMaxAwaitedTasks && awaited.insert(task.name).second) {
      todo.push_back(&task);
    }
  };
  std::unordered_map<std::string_view, const cpython::PythonTask*> by_name;
  for (const cpython::PythonTask& task : tasks) {
    by_name.emplace(task.name, &task);
    const bool counts = !rests_at_connection(task) || ++resting <= kMaxResting;
    if (task.target_tid != 0 || (is_connected(task) && counts)) {
      add(task);
    }
  }
  while (!todo.empty()) {
    std::vector<std::string> next = todo.back()->members;
    next.push_back(todo.back()->awaits);
    todo.pop_back();
    for (const std::string& name : next) {
      if (const auto at = by_name.find(name); !name.empty() && at != by_name.end()) {
        add(*at->second);
      }
    }
  }
  std::vector<cpython::PythonTask> kept;
  std::ranges::copy_if(tasks, std::back_inserter(kept), [&awaited](const auto& task) {
    return task.state != cpython::TaskState::kParked && awaited.contains(task.name);
  });
  tasks = std::move(kept);
}

// Returns the thread's number here; 0: none of these.
pid_t tid_of(pid_t target_tid, const std::vector<Reading>& readings) {
  const auto thread = std::ranges::find_if(readings, [target_tid](const Reading& reading) {
    return target_tid != 0 && reading.state.target_tid == target_tid;
  });
  return thread == readings.end() ? 0 : thread->state.tid;
}

// Adds the connections by their descriptors, the one at which the task waits first.
void add_sockets(const cpython::TaskSockets& sockets, snapshot::AsyncTask& row) {
  const auto add = [&row](int fd) {
    row.sockets.emplace_back();
    row.sockets.back().fd = fd;
  };
  row.at_socket = sockets.awaited >= 0;
  if (row.at_socket) {
    add(sockets.awaited);
  }
  for (const int fd : sockets.kept) {
    if (fd != sockets.awaited && row.sockets.size() < snapshot::kMaxKeptSockets) {
      add(fd);
    }
  }
}

void Collector::add_tasks(const std::vector<Reading>& readings) {
  auto tasks = reader_.python()->tasks(options_.tasks);
  if (!tasks) {
    return;
  }
  if (!options_.tasks) {
    keep_awaited(*tasks);
  }
  for (const cpython::PythonTask& task : *tasks) {
    snapshot::AsyncTask& row = process_.tasks.emplace_back();
    row.tid = tid_of(task.target_tid, readings);
    row.worker = tid_of(task.worker_tid, readings);
    row.loop = tid_of(task.loop_tid, readings);
    row.name = tables_.string(task.name);
    row.awaits = tables_.string(task.awaits);
    for (const std::string& member : task.members) {
      row.members.push_back(tables_.string(member));
    }
    row.state = state_of(task.state);
    row.trio = task.trio;
    if (task.object) {
      row.asked.known = true;
      row.asked.tasks = task.object->by == cpython::RayMaker::kTask;
      row.asked.others = task.object->by == cpython::RayMaker::kNobody;
      if (task.object->by == cpython::RayMaker::kActor) {
        row.asked.actors.push_back(tables_.string(task.object->actor));
      }
    }
    add_sockets(task.sockets, row);
    snapshot::Stack stack;
    stack.end = task.cut ? StackEnd::kLimit : StackEnd::kUnknown;
    for (const snapshot::Frame& frame : converter_.python(task.frames)) {
      stack.frames.push_back(tables_.frame(frame));
    }
    row.stack = tables_.stack(stack);
  }
  note_cut(cut_words(*tasks));
}

void Collector::add_left_behind() {
  for (const cpython::PythonThread& thread : reader_.left_behind()) {
    snapshot::AsyncTask& row = process_.tasks.emplace_back();
    row.name = tables_.string(thread.name);
    row.state = snapshot::TaskState::kLeftBehind;
    snapshot::Stack stack;
    for (const snapshot::Frame& frame : converter_.python(thread.frames)) {
      stack.frames.push_back(tables_.frame(frame));
    }
    row.stack = tables_.stack(stack);
  }
}

void Collector::note_cut(const std::string& words) {
  cut_ = join_clauses(cut_, words);
}

void Collector::note_cuts() {
  const cpython::PythonCuts cuts =
      reader_.python() ? reader_.python()->cuts() : cpython::PythonCuts();
  if (cuts.threads > 0) {
    note_cut("no Python frames of " + count_of(cuts.threads, "further thread") + ": " +
             std::to_string(cpython::kMaxThreads) + " and the main thread's are read");
  }
  if (cuts.interpreters) {
    note_cut("no Python frames of further interpreters: " +
             std::to_string(cpython::kMaxInterpreters) + " and the main one's are read");
  }
  if (without_locals_ > 0) {
    note_cut("the variables of " + count_of(without_locals_, "frame") +
             " are not shown: there are too many");
  }
}

// A process is partial only if the diagnosis lacks something: the main thread's stack.
void Collector::judge(const Reading& main) {
  std::string why;
  if (options_.native && main.native.frames.empty() && !is_dead(main.state)) {
    if (main.state.state != 'R') {
      why = "no native stack of the main thread: its registers cannot be read";
    } else if (!main.unstopped.empty()) {
      why = "no native stack of the main thread: it runs, and could not be stopped: " +
            main.unstopped;
    }
  }
  why = join_clauses(why, reader_.python_trouble());
  for (std::size_t i = 0; reader_.python() && i < reader_.python()->others().size(); ++i) {
    why = join_clauses(
        why, "no frames of a second Python in the process: " + reader_.python()->others()[i]);
  }
  process_.state = main.state.state;
  process_.read = why.empty() ? snapshot::ReadState::kFull : snapshot::ReadState::kPartial;
  process_.why = tables_.string(join_clauses(why, cut_));
}

void Collector::add(const std::vector<Reading>& readings) {
  if (reader_.python()) {
    process_.python_version = tables_.string(reader_.python()->version());
    process_.ending =
        reader_.python()->finalized() ? snapshot::Ending::kFinalized : snapshot::Ending::kNone;
    gils_ = reader_.python()->gils();
    process_.tasks.clear();
    add_left_behind();
    if (options_.tasks || has_event_loop(readings)) {
      add_tasks(readings);
    }
  }
  process_.stopped += static_cast<std::uint32_t>(reader_.stopped());
  process_.longest_stop_us =
      std::max(process_.longest_stop_us, static_cast<std::uint64_t>(reader_.stop_took().count()));
  for (const Reading& reading : readings) {
    add_sample(reading);
  }
  note_cuts();
  judge(readings.front());
}

// Moves the frames that hold words out of a reading.
void keep_frames(Reading& reading, std::vector<KeptFrames>& kept) {
  KeptFrames found{reading.state.tid, {}};
  for (unwind::NativeFrame& frame : reading.native.frames) {
    if (!frame.words.empty()) {
      found.frames.push_back(std::move(frame));
    }
  }
  if (!found.frames.empty() && !reading.moved) {
    kept.push_back(std::move(found));
  }
}

}  // namespace

Result<Collected> collect_stacks(const attach::Target& target,
                                 const CollectOptions& options,
                                 snapshot::Tables& tables,
                                 snapshot::ProcessCapture& process) {
  ProcessReader reader(target, options);
  ODDRANK_TRY(auto readings, reader.read());
  Collector(reader, options, tables, process).add(readings);
  if (options.visit_python && reader.python()) {
    options.visit_python(*reader.python());
  }
  Collected collected{{}, {}, reader.release_sample()};
  collected.threads.reserve(readings.size());
  for (Reading& reading : readings) {
    if (!reading.gone) {
      keep_frames(reading, collected.kept);
      collected.threads.push_back(std::move(reading.state));
    }
  }
  return collected;
}

}  // namespace oddrank::stacks
