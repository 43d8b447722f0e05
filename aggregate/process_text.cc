#include "aggregate/process_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "aggregate/job_view.h"
#include "aggregate/printable.h"
#include "aggregate/rank_set.h"
#include "aggregate/style.h"
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

// What makes threads of a pool equal: where they are, and whose pool it is. "" = to be shown.
std::string pool_of(const JobView& view,
                    const ProcessCapture& process,
                    const ThreadCapture& thread) {
  if (thread.tid == process.pid || thread.samples.empty() || thread.samples.back().state == 'R') {
    return {};
  }
  const auto hit = view.model().idle_pool(thread.samples.back());
  if (!hit || (thread.has_python && hit->pattern->kind == snapshot::FrameKind::kNative)) {
    return {};
  }
  const auto& frames = view.model().fold(thread.samples.back()).frames;
  return fmt::format("in {} ({})", frames.empty() ? "?" : frames.front().name, hit->pattern->words);
}

}  // namespace

std::string print_process(const Capture& capture,
                          const ProcessCapture& process,
                          const TextOptions& options) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  const Style style(options);
  std::string text = header(view, process, style);
  std::map<std::string, std::vector<std::int32_t>> pools;
  // Threads at the same place are shown once.
  std::vector<std::pair<std::string, std::vector<const ThreadCapture*>>> classes;
  for (const ThreadCapture& thread : process.threads) {
    const std::string pool = options.all_threads ? "" : pool_of(view, process, thread);
    if (!pool.empty()) {
      pools[pool].push_back(thread.tid);
      continue;
    }
    const std::string key =
        options.all_threads || thread.tid == process.pid || thread.samples.empty()
            ? fmt::format("#{}", thread.tid)
            : model.fold(thread.samples.back()).key + thread_wait_words(view, process, thread);
    const auto same = std::find_if(classes.begin(), classes.end(),
                                   [&key](const auto& entry) { return entry.first == key; });
    if (same != classes.end()) {
      same->second.push_back(&thread);
    } else {
      classes.push_back({key, {&thread}});
    }
  }
  for (const auto& entry : classes) {
    const auto& threads = entry.second;
    text += '\n' + thread_title(view, process, *threads.front(), style);
    if (threads.size() > 1) {
      std::vector<std::int32_t> others;
      for (std::size_t at = 1; at < threads.size(); ++at) {
        others.push_back(threads[at]->tid);
      }
      text += fmt::format("  and {} at the same place: {}\n", count_of(others.size(), "thread"),
                          format_ranks_within(others, 50));
    }
    text += thread_stack(view, *threads.front(), style, options.full_stacks);
  }
  if (!pools.empty()) {
    text += '\n';
  }
  for (const auto& [pool, tids] : pools) {
    text += style.dim(fmt::format("{} idle {}: {}", count_of(tids.size(), "thread"), pool,
                                  format_ranks_within(tids, 40))) +
            '\n';
  }
  return text;
}

}  // namespace oddrank::aggregate
