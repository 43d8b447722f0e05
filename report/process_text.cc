#include "report/process_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "aggregate/crash_words.h"
#include "aggregate/interpreter_words.h"
#include "aggregate/view/job_view.h"
#include "aggregate/view/quiet_span.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_sentence.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"
#include "report/style.h"
#include "report/tasks_text.h"
#include "report/thread_stack_text.h"

namespace oddrank::report {

using snapshot::ProcessCapture;
using snapshot::ReadState;
using snapshot::ThreadCapture;

namespace {

// Returns "sleeping uninterruptibly" for 'D', the kernel's letter for the state of a thread or
// process (proc(5)).
constexpr std::string_view state_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "sleeping uninterruptibly";
    case 'T':
      return "stopped";
    case 't':
      return "stopped by its tracer";
    case 'Z':
      return "ended (zombie)";
    case 'X':
      return "gone";
    case 'I':
      return "idle";
    default:
      return "in an unknown state";
  }
}

std::vector<std::string> facts_of(const aggregate::JobView& view, const ProcessCapture& process) {
  std::vector<std::string> facts;
  const std::string version = printable(view.text(process.python_version), 40);
  // If a Python was found that cannot be read, the line below says which one.
  if (!version.empty() || process.read == ReadState::kFull) {
    facts.push_back(version.empty() ? "no Python found" : "Python " + version);
  }
  if (process.ending == snapshot::Ending::kFinalized) {
    facts.emplace_back("finalized (only native code is left)");
  }
  // "3.14.0t"; a free-threaded Python started with a GIL shows the GIL's holder.
  if (version.ends_with('t')) {
    facts.emplace_back("free-threaded");
  }
  if (process.rank >= 0) {
    facts.push_back(
        process.is_rank
            ? fmt::format("rank {}", process.rank)
            : fmt::format("{} of rank {}", aggregate::child_words(view, process), process.rank));
  } else if (!process.is_rank && process.owner != 0 && process.owner != process.pid) {
    facts.push_back(
        fmt::format("{} of pid {}", aggregate::child_words(view, process), process.owner));
  }
  facts.emplace_back(state_words(process.state));
  facts.push_back(count_of(process.threads.size(), "thread"));
  const auto is_main = [&process](const auto& thread) { return thread.tid == process.pid; };
  if (!process.threads.empty() &&
      std::none_of(process.threads.begin(), process.threads.end(), is_main)) {
    facts.emplace_back("its main thread has ended");
  }
  if (process.stopped != 0) {
    facts.push_back(fmt::format("{} of at most {:.1f} ms", count_of(process.stopped, "thread stop"),
                                static_cast<double>(process.longest_stop_us) / 1000));
  }
  return facts;
}

std::string header(const aggregate::JobView& view,
                   const ProcessCapture& process,
                   const Style& style) {
  const std::string command = printable(view.text(process.command), 1000);
  const std::string host = view.host(process);
  const std::string title =
      fmt::format("Process {}{}", process.pid, host.empty() ? "" : " on " + host);
  const std::size_t used = columns(title) + 2;
  std::string text;
  if (const std::string crash = aggregate::crash_words(view, process); !crash.empty()) {
    const bool own = process.crash->is_own(process.pid);
    for (const std::string& line : wrap(crash, style.width())) {
      text += (own ? style.bad(line) : style.bold(line)) + '\n';
    }
  }
  text += style.bold(title) + ": " +
          cut_end(command.empty() ? printable(view.text(process.name)) : command,
                  style.width() > used + 20 ? style.width() - used : 20) +
          '\n';
  std::string line;
  for (const std::string& fact : facts_of(view, process)) {
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

// Returns whether the same thread has held this GIL since the first sample: a thread sleeps before
// it takes a GIL that another one wants, so a holder that never slept took it earlier.
bool is_held_throughout(const ProcessCapture& process, std::int64_t gil) {
  return std::any_of(process.threads.begin(), process.threads.end(), [gil](const auto& thread) {
    return thread.holds_gil && thread.gil == gil && !thread.samples.empty() &&
           thread.samples.front().voluntary_switches == thread.samples.back().voluntary_switches;
  });
}

// Returns ", wants the GIL, for about 0.5 s or longer". A thread that waits for the GIL wakes after
// each switch interval (5 ms unless the program changed it) to request it, so its switches measure
// the time. They include earlier waits, unless no other thread can have had the GIL.
std::string gil_words(const ProcessCapture& process, const ThreadCapture& thread) {
  if (!thread.holds_gil && !thread.wants_gil) {
    return {};
  }
  const std::string whose =
      thread.gil == 0 ? "the GIL" : fmt::format("the GIL of interpreter {}", thread.gil);
  if (thread.holds_gil) {
    return ", holds " + whose;
  }
  if (thread.samples.empty()) {
    return ", wants " + whose;
  }
  constexpr double kSwitchSeconds = 0.005;
  constexpr std::uint64_t kMinAsked = 10;  // fewer switches may have any cause
  const auto& first = thread.samples.front();
  const auto& last = thread.samples.back();
  const bool stayed = std::all_of(
      thread.samples.begin(), thread.samples.end(),
      [&first](const snapshot::ThreadSample& sample) { return sample.stack == first.stack; });
  const std::uint64_t asked = snapshot::ran_between(first, last).wakes;
  if (!stayed || asked < kMinAsked || !is_held_throughout(process, thread.gil)) {
    return ", wants " + whose;
  }
  return fmt::format(", wants {}, for about {:.1f} s or longer", whose,
                     static_cast<double>(asked) * kSwitchSeconds);
}

// Returns what the thread waits for, and for how long at most.
std::string limited_wait_words(const aggregate::JobView& view,
                               const ProcessCapture& process,
                               const ThreadCapture& thread) {
  const std::string waits = aggregate::thread_wait_words(view, process, thread);
  return waits.empty() || thread.call ? waits : waits + aggregate::long_limit_words(thread.wait);
}

std::string thread_title(const aggregate::JobView& view,
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
  // Threads start with the name of the process, which is not informative.
  if (!python_name.empty() && !os_name.empty() && os_name != python_name &&
      thread.name != process.name) {
    title += fmt::format(" [{}]", os_name);
  }
  const char state = thread.samples.empty() ? '?' : thread.samples.back().state;
  aggregate::QuietSpan quiet;
  quiet.add(thread);
  const std::string status =
      fmt::format("{}{}{}{}{}", state_words(state), quiet.tells() ? " " : "", quiet.words(),
                  gil_words(process, thread), aggregate::interpreter_words(view, thread));
  const std::string waits = limited_wait_words(view, process, thread);
  const std::string rest = fmt::format(" ({})", status);
  const bool fits = columns(title) + columns(rest) + 1 + columns(waits) <= style.width();
  return style.bold(title) + rest + (waits.empty() ? "" : (fits ? " " : "\n  ") + waits) + '\n';
}

}  // namespace

std::string print_process(const aggregate::JobView& view,
                          const ProcessCapture& process,
                          const TextOptions& options) {
  const Style style(options);
  std::string text = header(view, process, style);
  bool is_first_pool = true;
  for (const ThreadClass& threads :
       classify_threads(view, process, options.all_threads, options.locals)) {
    std::vector<std::int32_t> tids = threads.tids();
    if (!threads.pool.empty()) {
      text += is_first_pool ? "\n" : "";
      text += style.dim(fmt::format("{} idle {}: {}", count_of(tids.size(), "thread"), threads.pool,
                                    aggregate::format_ranks_within(tids, 40))) +
              '\n';
      is_first_pool = false;
      continue;
    }
    const ThreadCapture& first = *threads.threads.front();
    text += '\n' + thread_title(view, process, first, style);
    if (tids.size() > 1) {
      tids.erase(tids.begin());
      text += fmt::format("  and {} at the same place: {}\n", count_of(tids.size(), "thread"),
                          aggregate::format_ranks_within(tids, 50));
    }
    text += thread_stack_text(view, first, style, options);
  }
  return text + tasks_text(view, process, style);
}

std::string process_sentence(const aggregate::JobView& view, const ProcessCapture& process) {
  std::string text =
      fmt::format("pid {} ({}): ", process.pid, printable(view.text(process.name), 40));
  if (const std::string crash = aggregate::crash_words(view, process); !crash.empty()) {
    return text + crash + '\n';
  }
  text += state_words(process.state);
  if (!process.threads.empty() && !process.threads.front().samples.empty()) {
    const ThreadCapture& main = process.threads.front();
    const std::string waits = limited_wait_words(view, process, main);
    text += (waits.empty() ? "" : ", " + waits) + aggregate::interpreter_words(view, main);
    if (const auto frame = view.model().user_frame(main.samples.back())) {
      const std::string place = frame->place();
      text += ", at " + frame->name + (place.empty() ? "" : " (" + place + ")");
    }
  }
  const std::string why = printable(view.text(process.why));
  return text + (why.empty() ? "" : "; " + why) + '\n';
}

}  // namespace oddrank::report
