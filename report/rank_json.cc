#include "report/rank_json.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate/crash_words.h"
#include "aggregate/frames/frame_model.h"
#include "aggregate/interpreter_words.h"
#include "aggregate/view/coordinates.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "base/hex.h"
#include "base/names/demangle.h"
#include "base/signals/signal_name.h"
#include "report/json_values.h"
#include "report/listed_objects.h"
#include "report/tasks_text.h"
#include "snapshot/alike_threads.h"
#include "snapshot/loops/loop_polls.h"

namespace oddrank::report {

using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::ProcessCapture;
using snapshot::StackEnd;
using snapshot::ThreadCapture;
using snapshot::ThreadSample;

namespace {

constexpr std::size_t kMaxFields = 21;  // of a rank

// Writes a frame with py-spy's field names where py-spy has the field, and our own for the rest.
Json frame_json(const aggregate::JobView& view, snapshot::FrameId id) {
  const auto& tables = view.capture().tables;
  const Frame& frame = tables.frame(id);
  const std::string_view function = view.text(frame.function);
  const std::string_view file = view.text(frame.file);
  const bool python = frame.kind == FrameKind::kPython;
  Json json = object_for(10);
  json["name"] = python ? or_null(function) : or_null(demangle(function));
  const std::string_view source = python ? file : view.text(frame.source);
  json["filename"] = or_null(source);
  json["short_filename"] = or_null(aggregate::short_file(source));
  json["line"] = frame.line == 0 ? Json(nullptr) : Json(frame.line);
  json["kind"] = python ? "python" : "native";
  json["module"] = python ? Json(nullptr) : or_null(file);
  if (!python) {
    json["offset"] = fmt::format("{:#x}", frame.offset);
    json["build_id"] = or_null(view.text(frame.build_id));
  }
  json["heuristic"] = (frame.flags & snapshot::kHeuristic) != 0;
  json["inlined"] = !python && (frame.flags & snapshot::kInlined) != 0;
  return json;
}

Json wait_json(const aggregate::JobView& view,
               const ProcessCapture& process,
               const ThreadCapture& thread) {
  const auto& wait = thread.wait;
  Json json = object_for(12);
  json["what"] = aggregate::wait_name(wait.on);
  json["inferred"] = wait.inferred;
  json["syscall"] = or_null(view.text(wait.syscall_name));
  json["wchan"] = or_null(view.text(wait.wchan));
  json["fd"] = or_null_if(wait.fd, -1);
  json["path"] = or_null(view.text(wait.path));
  json["address"] = wait.address == 0 ? Json(nullptr) : Json(fmt::format("{:#x}", wait.address));
  json["pid"] = or_null_if(wait.holder_pid, 0);
  json["tid"] = or_null_if(wait.holder_tid, 0);
  json["holder_alive"] = known(wait.holder_alive);
  if (wait.rare->key != snapshot::StringId{}) {
    json["key"] = printable(view.text(wait.rare->key));
  }
  json["detail"] = or_null(aggregate::wait_detail(view, process, thread));
  return json;
}

Json call_json(const aggregate::JobView& view, const snapshot::CollectiveCall& call) {
  Json json = object_for(11);
  json["op"] = or_null(view.text(call.op));
  json["group"] = call.whole_world ? Json("default") : or_null(view.text(call.group));
  const auto& members = view.ranks_of(call.members);
  json["members"] = members.empty() ? Json(nullptr) : Json(aggregate::format_ranks(members));
  json["peer"] = or_null_if(call.peer, -1);
  if (const auto& peers = view.ranks_of(call.peers); !peers.empty()) {
    json["peers"] = aggregate::format_ranks(peers);
  }
  if (call.tag >= 0) {
    json["tag"] = call.tag;
  }
  json["root"] = or_null_if(call.root, -1);
  json["sequence"] = or_null_if<std::int64_t>(call.sequence, -1);
  json["words"] = aggregate::call_words(view, call);
  json["evidence"] = or_null(view.text(call.evidence));
  return json;
}

// Returns the frames that rows about a thread's Python frames refer to by index.
const std::vector<snapshot::FrameId>& indexed_frames(const aggregate::JobView& view,
                                                     const ThreadSample& sample) {
  return view.capture().tables.stacks()[sample.python_frames()].frames;
}

// Lists names and values for each of the innermost frames that has locals, innermost first.
Json locals_json(const aggregate::JobView& view,
                 const ThreadCapture& thread,
                 const ThreadSample& sample,
                 std::size_t most_frames) {
  Json rows = Json::array();
  const auto& frames = indexed_frames(view, sample);
  for (const snapshot::FrameLocals& row : thread.locals) {
    if (row.frame >= std::min(frames.size(), most_frames)) {
      continue;
    }
    const aggregate::ShownFrame frame = view.model().shown(frames[row.frame]);
    Json locals = Json::object();
    for (const snapshot::Local& local : row.locals) {
      locals[printable(view.text(local.name))] = printable(view.text(local.value));
    }
    rows.push_back({{"function", frame.name}, {"place", frame.place()}, {"locals", locals}});
  }
  return rows;
}

// Lists the loops that the thread is in and what they call, innermost first.
Json loops_json(const aggregate::JobView& view,
                const ThreadCapture& thread,
                const ThreadSample& sample) {
  Json rows = Json::array();
  const auto& frames = indexed_frames(view, sample);
  for (const snapshot::PythonLoop& loop : thread.loops) {
    if (loop.frame >= frames.size()) {
      continue;
    }
    const aggregate::ShownFrame frame = view.model().shown(frames[loop.frame]);
    Json calls = Json::array();
    for (const snapshot::LoopCall& call : loop.calls) {
      const snapshot::NamedCall named = snapshot::named_call(view.text(call.name), false);
      calls.push_back({{"name", or_null(named.name)},
                       {"of", or_null(named.owner)},
                       {"object", or_null(view.text(call.object))}});
    }
    rows.push_back({{"function", frame.name},
                    {"place", frame.place()},
                    {"iterates", loop.iterates},
                    {"endless", loop.endless},
                    {"left", or_null_if(loop.left, std::int64_t{-1})},
                    {"calls", calls},
                    {"more", loop.cut}});
  }
  return rows;
}

// Adds what differs among the thread's samples: its states if they differ, and its tracer.
void add_sample_facts(const aggregate::JobView& view, const ThreadCapture& thread, Json& json) {
  std::string states;
  Json tracer = nullptr;
  for (const ThreadSample& sample : thread.samples) {
    states += sample.state;
    if (sample.tracer != 0) {
      tracer = {{"pid", sample.tracer}, {"name", or_null(view.text(sample.tracer_name))}};
    }
  }
  if (states.find_first_not_of(states.substr(0, 1)) != std::string::npos) {
    json["states"] = printable(states);
  }
  if (!tracer.is_null()) {
    json["tracer"] = tracer;
  }
}

void add_stack(const aggregate::JobView& view,
               const ThreadSample& sample,
               std::size_t most_frames,
               Json& json) {
  json["frames"] = Json::array();
  const auto frames = view.model().all_frames(sample);
  for (std::size_t i = 0; i < std::min(frames.size(), most_frames); ++i) {
    json["frames"].push_back(frame_json(view, frames[i]));
  }
  if (frames.size() > most_frames) {
    json["frames_left_out"] = frames.size() - most_frames;
  }
  const StackEnd end = view.capture().tables.stacks()[sample.stack].end;
  if (end == StackEnd::kTorn || end == StackEnd::kRunningTorn) {
    json["torn"] = true;
  }
  if (end == StackEnd::kLimit) {
    json["cut"] = true;
  }
}

Json thread_json(const aggregate::JobView& view,
                 const ProcessCapture& process,
                 const ThreadCapture& thread,
                 std::size_t most_frames) {
  Json json = object_for(23);
  json["tid"] = thread.tid;
  json["name"] = or_null(view.text(thread.name));
  json["python_name"] = or_null(view.text(thread.python_name));
  json["has_python"] = thread.has_python;
  json["holds_gil"] = thread.holds_gil;
  json["wants_gil"] = thread.wants_gil;
  if (thread.gil != 0) {
    json["gil_of_interpreter"] = thread.gil;
  }
  const ThreadSample last = thread.samples.empty() ? ThreadSample{} : thread.samples.back();
  json["state"] = printable(std::string(1, last.state));
  json["samples"] = thread.samples.size();
  add_sample_facts(view, thread, json);
  json["cpu_us"] = last.cpu_us;
  if (thread.wait.quiet_ms >= 0) {
    json["quiet_s"] = seconds(thread.wait.quiet_ms);
  }
  json["wait"] = wait_json(view, process, thread);
  json["call"] = thread.call ? call_json(view, *thread.call) : Json(nullptr);
  add_stack(view, last, most_frames, json);
  if (const auto work = aggregate::interpreter_work(view, thread); !work.empty()) {
    json["interpreter"] = work;
    if (const auto generation = aggregate::collected_generation(view, thread); generation >= 0) {
      json["gc_generation"] = generation;
    }
  }
  if (!thread.locals.empty()) {
    json["locals"] = locals_json(view, thread, last, most_frames);
  }
  if (!thread.loops.empty()) {
    json["loops"] = loops_json(view, thread, last);
  }
  return json;
}

Json task_json(const aggregate::JobView& view, const snapshot::AsyncTask& task) {
  Json json = object_for(7);
  json["kind"] = task.state == snapshot::TaskState::kParked       ? "greenlet"
                 : task.state == snapshot::TaskState::kLeftBehind ? "left_behind"
                 : task.trio                                      ? "trio"
                                                                  : "asyncio";
  json["name"] = or_null(view.text(task.name));
  json["words"] = task_words(view, task);
  json["awaits"] = or_null(view.text(task.awaits));
  json["awaited_by"] = or_null_if(task.tid, pid_t{0});
  json["members"] = Json::array();
  for (const snapshot::StringId member : task.members) {
    json["members"].push_back(printable(view.text(member)));
  }
  json["frames"] = Json::array();
  snapshot::ThreadSample sample;
  sample.stack = task.stack;
  for (const auto id : view.model().all_frames(sample)) {
    json["frames"].push_back(frame_json(view, id));
  }
  return json;
}

std::string_view ending_name(snapshot::Ending ending) {
  switch (ending) {
    case snapshot::Ending::kInOrder:
      return "in_order";
    case snapshot::Ending::kSystemExit:
      return "system_exit";
    case snapshot::Ending::kAfterException:
      return "after_exception";
    case snapshot::Ending::kFinalized:
      return "finalized";
    case snapshot::Ending::kNone:
      break;
  }
  return "none";
}

std::string_view role_name(const ProcessCapture& process) {
  if (process.rank >= 0 || !process.is_rank) {
    return process.is_rank ? "rank" : "child";
  }
  switch (process.role) {
    case snapshot::JobRole::kController:
      return "controller";
    case snapshot::JobRole::kServer:
      return "server";
    case snapshot::JobRole::kEngine:
      return "engine";
    case snapshot::JobRole::kWorker:
      return "worker";
    case snapshot::JobRole::kActor:
      return "actor";
    case snapshot::JobRole::kService:
      return "service";
    case snapshot::JobRole::kUnknown:
      break;
  }
  return "process";
}

Json crash_json(const aggregate::JobView& view, const ProcessCapture& process) {
  const snapshot::Crash& crash = *process.crash;
  return {{"signal", crash.signal},
          {"name", signal_name(crash.signal)},
          {"code", crash.code},
          {"address", crash.address == 0 ? Json(nullptr) : Json("0x" + hex_number(crash.address))},
          {"tid", crash.tid},
          {"sender", or_null_if(crash.sender, 0)},
          {"own", crash.is_own(process.pid)},
          {"message", or_null(view.text(crash.message))},
          {"words", aggregate::crash_words(view, process)}};
}

void add_threads(const aggregate::JobView& view, const ProcessCapture& process, Json& json) {
  ListingRoom room(view);
  std::size_t left_out = process.threads_left_out;
  for (const ThreadCapture& thread : process.threads) {
    if (const std::size_t frames = room.take(thread); frames > 0) {
      json["threads"].push_back(thread_json(view, process, thread, frames));
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) {
    json["threads_left_out"] = left_out;
  }
  left_out = 0;
  for (const snapshot::AsyncTask& task : process.tasks) {
    if (room.take(task)) {
      json["tasks"].push_back(task_json(view, task));
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) {
    json["tasks_left_out"] = left_out;
  }
}

void add_process(const aggregate::JobView& view,
                 const ProcessCapture& process,
                 bool with_threads,
                 Json& json) {
  json["pid"] = process.pid;
  json["parent"] = or_null_if(process.parent, 0);
  json["state"] = printable(std::string(1, process.state));
  json["name"] = or_null(view.text(process.name));
  json["role"] = role_name(process);
  json["label"] = or_null(view.text(process.label));
  json["command"] = or_null(view.text(process.command));
  json["python_version"] = or_null(view.text(process.python_version));
  for (const auto& [name, value] : process.setup) {
    json["setup"][printable(view.text(name))] = printable(view.text(value));
  }
  json["exit_code"] = or_null_if(process.exit_code, -1);
  if (process.ending != snapshot::Ending::kNone) {
    json["ending"] = ending_name(process.ending);
  }
  if (const std::string_view exception = view.text(process.exception); !exception.empty()) {
    json["exception"] = printable(exception);
  }
  if (process.crash->signal != 0) {
    json["crash"] = crash_json(view, process);
  }
  json["why"] = or_null(view.text(process.why));
  if (process.stopped != 0) {
    json["stops"] = {{"threads", process.stopped}, {"longest_us", process.longest_stop_us}};
  }
  json["threads"] = Json::array();
  if (with_threads) {
    add_threads(view, process, json);
  } else {
    json["threads_left_out"] = snapshot::count_threads(process);
  }
}

// Lists the rank's process groups, and how many calls each backend has been given. "mixed": that
// number counts sends and receives, too.
Json rank_groups_json(const aggregate::JobView& view, const ProcessCapture& process) {
  Json json = Json::array();
  for (const snapshot::ProcessGroup& group : process.groups) {
    Json counts = Json::array();
    for (const snapshot::GroupCounter& counter : group.counters) {
      counts.push_back({{"backend", or_null(view.text(counter.backend))},
                        {"calls", or_null_if(counter.collectives, std::int64_t{-1})},
                        {"transfers", or_null_if(counter.transfers, std::int64_t{-1})},
                        {"mixed", counter.mixed}});
    }
    json.push_back({{"name", printable(view.text(group.name))},
                    {"label", or_null(view.text(group.label))},
                    {"default", group.is_default},
                    {"size", or_null_if(group.size, -1)},
                    {"counts", std::move(counts)}});
  }
  return json;
}

}  // namespace

Json rank_json(const aggregate::JobView& view,
               const aggregate::RankView& rank,
               const aggregate::RankStep* step,
               bool with_threads) {
  Json row = object_for(kMaxFields);
  row["rank"] = or_null_if(rank.rank, -1);
  row["host"] = or_null(rank.host);
  add_process(view, *rank.process, with_threads, row);
  for (const auto& [name, place] : aggregate::coordinates_of(view, rank)) {
    row["coordinates"][name] = place;
  }
  row["phase"] = aggregate::phase_of(view, rank);
  row["leader"] = rank.decider == nullptr ? Json(nullptr) : Json(rank.decider->tid);
  row["moved"] = rank.motion.measured ? Json(!rank.motion.still()) : Json(nullptr);
  if (!rank.process->groups.empty()) {
    row["groups"] = rank_groups_json(view, *rank.process);
  }
  if (step != nullptr) {
    row["step"] = {{"number", step->step},
                   {"behind", step->behind},
                   {"group", printable(step->group)},
                   {"of", step->transfers ? "transfers" : "collectives"},
                   {"calls", step->calls},
                   {"newest", step->newest}};
  }
  row["children"] = Json::array();
  for (const ProcessCapture* child : rank.children) {
    Json json = object_for(kMaxFields);
    add_process(view, *child, with_threads, json);
    row["children"].push_back(std::move(json));
  }
  return row;
}

}  // namespace oddrank::report
