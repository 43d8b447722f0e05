#include "aggregate/tasks_text.h"

#include <cstddef>

#include <fmt/format.h>

#include "aggregate/printable.h"

namespace oddrank::aggregate {

using snapshot::AsyncTask;
using snapshot::TaskState;

std::string task_words(const JobView& view, const AsyncTask& task) {
  switch (task.state) {
    case TaskState::kNotStarted:
      return "has not begun";
    case TaskState::kRuns:
      return "runs; the stack of its thread tells where";
    case TaskState::kWaits:
      break;
    default:
      return "";
  }
  const std::string awaited = printable(view.text(task.awaits), 100);
  if (awaited.empty()) {
    return "waits";
  }
  return awaited.front() == '<' ? "waits for " + awaited
                                : fmt::format("waits for task \"{}\"", awaited);
}

std::string tasks_text(const JobView& view,
                       const snapshot::ProcessCapture& process,
                       const Style& style) {
  constexpr std::size_t kIndent = 4;
  constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);
  std::string text;
  for (const AsyncTask& task : process.tasks) {
    const std::string name = printable(view.text(task.name), 100);
    text += '\n' +
            style.bold(fmt::format("asyncio task{}", name.empty() ? "" : " \"" + name + '"')) +
            ' ' + task_words(view, task) + '\n';
    snapshot::ThreadSample sample;
    sample.stack = task.stack;
    text += style.stack_lines(view.model().fold(sample), kIndent, kNoLimit);
  }
  return text;
}

}  // namespace oddrank::aggregate
