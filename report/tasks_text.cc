#include "report/tasks_text.h"

#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"

namespace oddrank::report {

using snapshot::AsyncTask;
using snapshot::TaskState;

namespace {

// Returns "task \"load\"" or "tasks \"load\", \"save\", <Future>": the first few, and how many more
// there are.
std::string member_words(const aggregate::JobView& view,
                         const std::vector<snapshot::StringId>& members) {
  constexpr std::size_t kMaxShown = 8;
  std::vector<std::string> words;
  std::size_t tasks = 0;
  for (const snapshot::StringId id : members) {
    const std::string name = printable(view.text(id), 100);
    const bool is_task = !name.starts_with('<') || name == "<Task>";
    tasks += is_task ? 1 : 0;
    words.push_back(name.starts_with('<') ? name : '"' + name + '"');
  }
  std::string text = tasks == 0 ? "" : tasks == 1 ? "task " : "tasks ";
  for (std::size_t i = 0; i < words.size() && i < kMaxShown; ++i) {
    text += (i == 0 ? "" : ", ") + words[i];
  }
  return words.size() <= kMaxShown ? text
                                   : fmt::format("{} and {} more", text, words.size() - kMaxShown);
}

std::string title_of(const AsyncTask& task, const std::string& name) {
  if (task.state == TaskState::kParked) {
    return "greenlet";
  }
  return fmt::format("{}{}", task.state == TaskState::kLeftBehind ? "Python thread" : "task",
                     name.empty() ? "" : " \"" + name + '"');
}

}  // namespace

std::string task_words(const aggregate::JobView& view, const AsyncTask& task) {
  switch (task.state) {
    case TaskState::kNotStarted:
      return "has not started";
    case TaskState::kRuns:
      return "is running; the stack of its thread shows where";
    case TaskState::kParked:
      return "is parked";
    case TaskState::kLeftBehind:
      return "has no thread in this process: left behind by a fork() without Python's hooks, or "
             "its thread ended outside of Python";
    case TaskState::kWaits:
      break;
    default:
      return "";
  }
  if (!task.members.empty()) {
    return "waits for " + member_words(view, task.members);
  }
  const std::string awaited = printable(view.text(task.awaits), 100);
  if (awaited.empty()) {
    return "waits";
  }
  return awaited.front() == '<' ? "waits for " + awaited
                                : fmt::format("waits for task \"{}\"", awaited);
}

std::string tasks_text(const aggregate::JobView& view,
                       const snapshot::ProcessCapture& process,
                       const Style& style) {
  constexpr std::size_t kIndent = 4;
  constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);
  std::string text;
  if (const std::string why = printable(view.text(process.why));
      !process.tasks.empty() && !why.empty()) {
    text += '\n' + style.bold("tasks") + ": " + why + '\n';
  }
  for (const AsyncTask& task : process.tasks) {
    const std::string name = printable(view.text(task.name), 100);
    const std::string title = title_of(task, name);
    text += '\n' + style.bold(title) + ' ' + task_words(view, task) + '\n';
    snapshot::ThreadSample sample;
    sample.stack = task.stack;
    if (view.capture().tables.stack(task.stack).end == snapshot::StackEnd::kLimit) {
      text += style.dim("    ... more coroutines, which were not read") + '\n';
    }
    text += style.stack_lines(view.model().fold(sample), kIndent, kNoLimit);
  }
  return text;
}

}  // namespace oddrank::report
