#include "report/html/html_data.h"

#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate/view/coordinates.h"
#include "aggregate/view/job_view.h"
#include "aggregate/view/quiet_span.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"
#include "base/version.h"
#include "report/call_lines.h"
#include "report/html/html_tables.h"
#include "report/html/html_timeline.h"
#include "report/html/html_verdict.h"
#include "report/html/mesh_layout.h"
#include "report/json_values.h"
#include "report/tasks_text.h"
#include "report/thread_stack_text.h"
#include "report/tree/prefix_tree.h"
#include "report/wait_picture.h"

namespace oddrank::report {
namespace {

using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

// Flags in a thread row.
constexpr unsigned kHoldsGil = 2;
constexpr unsigned kWantsGil = 4;
constexpr unsigned kDecides = 8;  // represents its rank
constexpr unsigned kIdle = 16;

constexpr std::size_t kTidColumns = 400;
constexpr std::size_t kCommandColumns = 300;

// Joins objects into one with the members of all; no object may be empty.
std::string joined(const std::vector<std::string>& objects) {
  std::string text;
  for (const std::string& object : objects) {
    text += text.empty() ? '{' : ',';
    text.append(object, 1, object.size() - 2);
  }
  return text + '}';
}

class PageData {
 public:
  PageData(const aggregate::Diagnosis& report, const aggregate::JobView& view);

  // Returns the page's data as the text of a JSON object.
  std::string page();

 private:
  // Returns the shown group of a rank of the view; -1: in no group.
  std::int64_t group_of(const aggregate::RankView& rank) const;

  Json groups();
  std::string motion_words(const aggregate::RankView& rank) const;

  // Columns: rank, host, pid, local rank, group, state, presence, why, phase, motion, coordinates,
  // role, label.
  Json ranks();

  // Columns: frame of the thread's stack, words.
  Json locals(const ThreadCapture& thread);

  // Columns: thread ids, name, state, wait, stack, marks, locals.
  Json thread_row(const ProcessCapture& process, const ThreadClass& threads);

  // Columns: name, what it waits for, stack.
  Json task_row(const snapshot::AsyncTask& task);

  // Columns: row of `ranks` (-1: none), pid, role, command, Python version, state, why it was not
  // read, threads, tasks.
  Json process_row(std::int64_t rank, const ProcessCapture& process);

  Json processes();
  // Columns of nodes: kind, label, phase, group, rank of the view (-1: no rank), ranks. Columns of
  // edges: from, to, words, whether it is assumed.
  Json picture();

  // The job's layout: names and sizes of its axes, the slowest first, and the place of each rank.
  Json axes() const;

  // Lists parents before their children, and children in display order. Columns: frame (-1: the
  // root), parent (-1: none), count, ranks, the counter that decided its place among its siblings,
  // and whether it is behind by that counter.
  Json tree();

  const aggregate::Diagnosis& report_;
  aggregate::FrameModel& model_;
  const aggregate::JobView& view_;
  WaitPicture drawn_;
  HtmlTables tables_;
  std::map<std::int32_t, std::size_t> group_of_rank_;
  std::map<pid_t, std::size_t> group_of_pid_;
};

PageData::PageData(const aggregate::Diagnosis& report, const aggregate::JobView& view)
    : report_(report),
      model_(view.model()),
      view_(view),
      drawn_(wait_picture(view, report.verdict)),
      tables_(model_) {
  for (std::size_t at = 0; at < report.shown.size(); ++at) {
    for (const std::size_t part : report.shown[at].parts) {
      for (const std::int32_t rank : report.groups[part].ranks) {
        group_of_rank_[rank] = at;
      }
      for (const pid_t pid : report.groups[part].pids) {
        group_of_pid_.try_emplace(pid, at);
      }
    }
  }
}

std::string PageData::page() {
  Json json;
  json["version"] = kVersion;
  json["groups"] = groups();
  json["ranks"] = ranks();
  json["processes"] = processes();
  json["picture"] = picture();
  json["axes"] = axes();
  json["tree"] = tree();
  std::vector<std::int64_t> group_of_rank;
  for (const aggregate::RankView& rank : view_.ranks()) {
    group_of_rank.push_back(group_of(rank));
  }
  const std::string timeline = html_timeline(view_, group_of_rank, tables_);
  // The texts and frames that the rows above refer to by number.
  json["texts"] = tables_.texts();
  json["frames"] = Json::array();
  for (const HtmlTables::FrameRow& row : tables_.frames()) {
    json["frames"].push_back({row.name, row.place, std::string(1, row.kind)});
  }
  json["stacks"] = tables_.stacks();
  return joined({html_verdict(report_), timeline, json_text(json)});
}

std::int64_t PageData::group_of(const aggregate::RankView& rank) const {
  const auto by_rank = group_of_rank_.find(rank.rank);
  if (rank.rank >= 0) {
    return by_rank == group_of_rank_.end() ? -1 : static_cast<std::int64_t>(by_rank->second);
  }
  const auto by_pid = group_of_pid_.find(rank.pid());
  return by_pid == group_of_pid_.end() ? -1 : static_cast<std::int64_t>(by_pid->second);
}

Json PageData::groups() {
  Json json = Json::array();
  for (const aggregate::ShownGroup& shown : report_.shown) {
    const aggregate::ReportedGroup& group = report_.group_of(shown);
    Json row;
    row["ranks"] = aggregate::format_ranks(group.ranks);
    row["count"] = group.count;
    row["hosts"] = group.hosts;
    row["phase"] = group.phase;
    row["culprit"] = group.culprit;
    row["stack"] = tables_.stack(group.stack);
    row["awaited"] = Json::array();
    if (!group.main_stack.frames.empty()) {
      row["awaited"].push_back({"the main thread", "", tables_.stack(group.main_stack)});
    }
    for (const aggregate::ReportedProcess& process : group.awaited) {
      row["awaited"].push_back({fmt::format("{}, pid {}", process.what, process.pid), process.stuck,
                                tables_.stack(process.stack)});
    }
    row["differ"] = Json::array();
    for (const aggregate::LocalDifference& difference : group.differences) {
      row["differ"].push_back(
          fmt::format("{} in {} ({})", difference.words(), difference.function, difference.place));
    }
    json.push_back(std::move(row));
  }
  return json;
}

std::string PageData::motion_words(const aggregate::RankView& rank) const {
  const aggregate::RankStep* step = aggregate::step_of(report_.steps, rank.rank);
  std::string in_step = step == nullptr ? "" : step_words(*step);
  const aggregate::Motion& motion = rank.motion;
  if (!motion.measured) {
    return in_step;
  }
  if (motion.still()) {
    return "did not move between the samples" + (in_step.empty() ? "" : ", " + in_step);
  }
  std::string words = motion.stack ? "was elsewhere in the second sample"
                      : motion.cpu ? "at the same place in both samples, and used the CPU"
                                   : "at the same place in both samples, and woke in between";
  words += in_step.empty() ? "" : ", " + in_step;
  return motion.cpu_us == 0 ? words : fmt::format("{} ({} us)", words, motion.cpu_us);
}

Json PageData::ranks() {
  Json json = Json::array();
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const aggregate::RankView& rank = view_.ranks()[at];
    json.push_back(
        {rank.rank, tables_.text(printable(rank.host)), rank.pid(),
         rank.process == nullptr ? -1 : rank.process->local_rank, group_of(rank),
         std::string(1, rank.state()), static_cast<unsigned>(rank.presence),
         tables_.text(printable(rank.why)), tables_.text(aggregate::phase_of(view_, rank)),
         tables_.text(motion_words(rank)),
         tables_.text(aggregate::coordinate_words(aggregate::coordinates_of(view_, rank))),
         static_cast<unsigned>(drawn_.roles[at]), tables_.text(printable(rank.label))});
  }
  return json;
}

Json PageData::locals(const ThreadCapture& thread) {
  Json json = Json::array();
  if (thread.samples.empty()) {
    return json;
  }
  const std::size_t before = model_.frames_before_locals(thread.samples.back());
  for (const auto& of_frame : thread.locals) {
    std::string words;
    for (const auto& local : of_frame.locals) {
      words += fmt::format("{}{}={}", words.empty() ? "" : ", ", printable(view_.text(local.name)),
                           printable(view_.text(local.value)));
    }
    json.push_back({before + of_frame.frame, tables_.text(words)});
  }
  return json;
}

Json PageData::thread_row(const ProcessCapture& process, const ThreadClass& threads) {
  const ThreadCapture& first = *threads.threads.front();
  const std::string python_name = printable(view_.text(first.python_name), 60);
  const std::string name =
      python_name.empty() ? printable(view_.text(first.name), 20) : python_name;
  unsigned marks = first.holds_gil ? kHoldsGil : 0U;
  marks |= first.wants_gil ? kWantsGil : 0U;
  marks |= aggregate::deciding_thread(view_, process) == &first ? kDecides : 0U;
  marks |= threads.pool.empty() ? 0U : kIdle;
  std::string wait = threads.pool.empty() ? aggregate::thread_wait_words(view_, process, first)
                                          : "idle " + threads.pool;
  aggregate::QuietSpan quiet;
  for (const ThreadCapture* thread : threads.threads) {
    quiet.add(*thread);
  }
  if (quiet.tells()) {
    wait += (wait.empty() ? "" : ", ") + quiet.words();
  }
  const bool sampled = !first.samples.empty();
  return {aggregate::format_ranks_within(threads.tids(), kTidColumns),
          threads.threads.size(),
          tables_.text(name),
          std::string(1, sampled ? first.samples.back().state : '?'),
          tables_.text(wait),
          sampled ? tables_.stack(first.samples.back()) : 0,
          marks,
          locals(first)};
}

Json PageData::task_row(const snapshot::AsyncTask& task) {
  snapshot::ThreadSample sample;
  sample.stack = task.stack;
  return {tables_.text(printable(view_.text(task.name), 100)),
          tables_.text(task_words(view_, task)), tables_.stack(sample),
          task.state == snapshot::TaskState::kParked       ? 1
          : task.state == snapshot::TaskState::kLeftBehind ? 2
                                                           : 0};
}

Json PageData::process_row(std::int64_t rank, const ProcessCapture& process) {
  Json threads = Json::array();
  for (const ThreadClass& same : classify_threads(view_, process, false)) {
    threads.push_back(thread_row(process, same));
  }
  Json tasks = Json::array();
  for (const snapshot::AsyncTask& task : process.tasks) {
    tasks.push_back(task_row(task));
  }
  return {rank,
          process.pid,
          tables_.text(process.is_rank ? "" : aggregate::child_words(view_, process)),
          tables_.text(printable(view_.text(process.command), kCommandColumns)),
          tables_.text(printable(view_.text(process.python_version), 40)),
          std::string(1, process.state),
          tables_.text(printable(view_.text(process.why))),
          std::move(threads),
          std::move(tasks)};
}

Json PageData::processes() {
  Json json = Json::array();
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const aggregate::RankView& rank = view_.ranks()[at];
    const auto row = static_cast<std::int64_t>(at);
    if (rank.process != nullptr) {
      json.push_back(process_row(row, *rank.process));
    }
    for (const ProcessCapture* child : rank.children) {
      json.push_back(process_row(row, *child));
    }
  }
  return json;
}

Json PageData::picture() {
  Json nodes = Json::array();
  for (const PictureNode& node : drawn_.nodes) {
    const aggregate::RankView* first =
        node.ranks.empty() ? nullptr : &view_.ranks()[node.ranks.front()];
    nodes.push_back({static_cast<unsigned>(node.kind), tables_.text(printable(node.label)),
                     tables_.text(printable(node.phase)), first == nullptr ? -1 : group_of(*first),
                     first == nullptr ? -1 : static_cast<std::int64_t>(node.ranks.front()),
                     node.ranks.size()});
  }
  Json edges = Json::array();
  for (const PictureEdge& edge : drawn_.edges) {
    edges.push_back({edge.from, edge.to, tables_.text(printable(edge.on)), edge.assumed ? 1 : 0});
  }
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

Json PageData::axes() const {
  const MeshLayout layout = mesh_layout(view_);
  return {{"names", layout.names}, {"sizes", layout.sizes}, {"order", layout.order}};
}

Json PageData::tree() {
  const PrefixTree tree = build_prefix_tree(view_);
  Json json = Json::array();
  std::vector<std::pair<std::size_t, std::int64_t>> todo = {{0, -1}};
  while (!todo.empty()) {
    const auto [at, parent] = todo.back();
    todo.pop_back();
    const TreeNode& node = tree.nodes[at];
    const auto row = static_cast<std::int64_t>(json.size());
    json.push_back({at == 0 ? -1 : static_cast<std::int64_t>(tables_.frame(node.frame)), parent,
                    node.count, aggregate::format_ranks(node.ranks), tables_.text(node.counter),
                    node.behind ? 1 : 0});
    for (std::size_t child = node.children.size(); child > 0; --child) {
      todo.emplace_back(node.children[child - 1], row);
    }
  }
  return json;
}

}  // namespace

std::string html_data(const aggregate::Diagnosis& report, const aggregate::JobView& view) {
  const std::string json = PageData(report, view).page();
  // In JSON, '<' only occurs within a text, and this escape means the same there. In a page, '<'
  // could end the script.
  std::string safe;
  safe.reserve(json.size());
  for (const char letter : json) {
    if (letter == '<') {
      safe += "\\u003c";
    } else {
      safe += letter;
    }
  }
  return safe;
}

}  // namespace oddrank::report
