#include "attach/proc_sched.h"

#include <algorithm>

#include "attach/task_path.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::attach {
namespace {

using std::chrono::microseconds;

// "72871574.392876", milliseconds.
std::optional<microseconds> parse_moment(std::string_view value) {
  constexpr std::int64_t kMaxRunMs = std::int64_t{1} << 50;
  const auto ms = parse_number<std::int64_t>(value.substr(0, value.find('.')));
  return ms && *ms > 0 && *ms < kMaxRunMs ? std::optional(std::chrono::milliseconds(*ms))
                                          : std::nullopt;
}

}  // namespace

ProcSched parse_proc_sched(std::string_view text) {
  ProcSched sched;
  while (!text.empty() && !(sched.last_run && sched.involuntary_switches)) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string_view name = trim(line.substr(0, colon));
    const std::string_view value = trim(line.substr(colon + 1));
    if (name == "se.exec_start") {
      sched.last_run = parse_moment(value);
    } else if (name == "nr_voluntary_switches") {
      sched.voluntary_switches = parse_number<std::uint64_t>(value);
    } else if (name == "nr_involuntary_switches") {
      sched.involuntary_switches = parse_number<std::uint64_t>(value);
    }
  }
  return sched;
}

ProcSched read_proc_sched(pid_t pid, pid_t tid) {
  const auto text = read_record(task_path(pid, tid, "sched"), kMaxSchedBytes);
  return text ? parse_proc_sched(*text) : ProcSched();
}

}  // namespace oddrank::attach
