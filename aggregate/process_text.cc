#include "aggregate/process_text.h"

#include <vector>

#include <fmt/format.h>

#include "aggregate/job_view.h"
#include "aggregate/printable.h"
#include "aggregate/rank_set.h"
#include "aggregate/style.h"
#include "aggregate/thread_classes.h"
#include "aggregate/wait_words.h"

namespace oddrank::aggregate {

using snapshot::Capture;
using snapshot::MergeState;
using snapshot::ProcessCapture;
using snapshot::ReadState;
using snapshot::StackEnd;
using snapshot::ThreadCapture;

namespace {

constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

std::string_view end_words(StackEnd end) {
  switch (end) {
    case StackEnd::kNoUnwindInfo:
      return "no unwind information further out";
    case StackEnd::kBadMemory:
      return "the stack's memory could not be read further out";
    case StackEnd::kLimit:
      return "cut: the stack is longer than the limit";
    case StackEnd::kRunning:
      return "it ran: no native frames, it was not stopped (--never-stop, or it could not be)";
    case StackEnd::kGone:
      return "the thread ended while it was read";
    case StackEnd::kTorn:
      return "the thread moved while it was read";
    default:
      return "";
  }
}

std::string header(const JobView& view, const ProcessCapture& process, const Style& style) {
  const std::string command = printable(view.text(process.command), 1000);
  const std::string host = view.host(process);
  const std::string title =
      fmt::format("Process {}{}", process.pid, host.empty() ? "" : " on " + host);
  const std::size_t used = columns(title) + 2;
  std::string text = style.bold(title) + ": " +
                     cut_end(command.empty() ? printable(view.text(process.name)) : command,
                             style.width() > used + 20 ? style.width() - used : 20) +
                     '\n';
  std::vector<std::string> facts;
  const std::string version = printable(view.text(process.python_version), 40);
  facts.push_back(version.empty() ? "no Python found" : "Python " + version);
  if (process.rank >= 0) {
    facts.push_back(process.is_rank
                        ? fmt::format("rank {}", process.rank)
                        : fmt::format("{} of rank {}", child_words(view, process), process.rank));
  } else if (!process.is_rank && process.owner != 0 && process.owner != process.pid) {
    facts.push_back(fmt::format("{} of pid {}", child_words(view, process), process.owner));
  }
  facts.push_back(fmt::format("state {}", process.state));
  facts.push_back(count_of(process.threads.size(), "thread"));
  if (process.stopped != 0) {
    facts.push_back(fmt::format("{} of at most {:.1f} ms", count_of(process.stopped, "thread stop"),
                                static_cast<double>(process.longest_stop_us) / 1000));
  }
  std::string line;
  for (const std::string& fact : facts) {
    line += (line.empty() ? "" : ", ") + fact;
  }
  text += line + "; innermost frame first\n";
  if (process.read != ReadState::kFull) {
    const std::string why = printable(view.text(process.why));
    text += style.warn(fmt::format("{}{}",
                                   process.read == ReadState::kNone ? "not read" : "read in part",
                                   why.empty() ? "" : ": " + why)) +
            '\n';
  }
  return text;
}

std::string thread_title(const JobView& view,
                         const ProcessCapture& process,
                         const ThreadCapture& thread,
                         const Style& style) {
  const std::string python_name = printable(view.text(thread.python_name), 60);
  const std::string os_name = printable(view.text(thread.name), 20);
  const std::string name = python_name.empty() ? os_name : python_name;
  std::string title = fmt::format("Thread {}", thread.tid);
  if (!name.empty()) {
    title += fmt::format(" \"{}\"", name);
  }
  // Threads are born with the name of the process, which says nothing.
  if (!python_name.empty() && !os_name.empty() && os_name != python_name &&
      thread.name != process.name) {
    title += fmt::format(" [{}]", os_name);
  }
  const char state = thread.samples.empty() ? '?' : thread.samples.back().state;
  std::string status = fmt::format("state {}", state);
  if (thread.holds_gil) {
    status += ", holds the GIL";
  } else if (thread.wants_gil) {
    status += ", wants the GIL";
  }
  const std::string waits = thread_wait_words(view, process, thread);
  const std::string rest = fmt::format(" ({})", status);
  const bool fits = columns(title) + columns(rest) + 1 + columns(waits) <= style.width();
  return style.bold(title) + rest + (waits.empty() ? "" : (fits ? " " : "\n  ") + waits) + '\n';
}

std::string thread_stack(const JobView& view,
                         const ThreadCapture& thread,
                         const Style& style,
                         bool full) {
  if (thread.samples.empty()) {
    return "    no stack was read\n";
  }
  const auto& sample = thread.samples.back();
  FoldedStack stack = view.model().fold_with_inlined(sample);
  if (full) {
    stack.frames.clear();
    stack.hidden = 0;
    for (const auto id : view.model().all_frames(sample)) {
      stack.frames.push_back(view.model().shown(id));
    }
  }
  std::string text = style.stack_lines(stack, 4, kNoLimit);
  if (stack.frames.empty()) {
    text = "    no frame was read\n";
  }
  const auto& tables = view.capture().tables;
  if (tables.stacks().contains(sample.stack)) {
    const auto& read = tables.stack(sample.stack);
    if (const auto words = end_words(read.end); !words.empty()) {
      text += style.dim(fmt::format("    ... {}", words)) + '\n';
    }
    if (read.merge == MergeState::kMismatch) {
      text += style.dim("    ... native and Python frames do not fit; native first, then Python") +
              '\n';
    }
  }
  return text;
}

}  // namespace

std::string print_process(const Capture& capture,
                          const ProcessCapture& process,
                          const TextOptions& options) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  const Style style(options);
  std::string text = header(view, process, style);
  bool is_first_pool = true;
  for (const ThreadClass& threads : classify_threads(view, process, options.all_threads)) {
    std::vector<std::int32_t> tids = threads.tids();
    if (!threads.pool.empty()) {
      text += is_first_pool ? "\n" : "";
      text += style.dim(fmt::format("{} idle {}: {}", count_of(tids.size(), "thread"), threads.pool,
                                    format_ranks_within(tids, 40))) +
              '\n';
      is_first_pool = false;
      continue;
    }
    const ThreadCapture& first = *threads.threads.front();
    text += '\n' + thread_title(view, process, first, style);
    if (tids.size() > 1) {
      tids.erase(tids.begin());
      text += fmt::format("  and {} at the same place: {}\n", count_of(tids.size(), "thread"),
                          format_ranks_within(tids, 50));
    }
    text += thread_stack(view, first, style, options.full_stacks);
  }
  return text;
}

}  // namespace oddrank::aggregate
