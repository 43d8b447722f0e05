#include "attach/proc_task.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "attach/proc_path.h"
#include "attach/task_files.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

using std::chrono::microseconds;

namespace {

// The kernel bounds pids by 4 Mi (PID_MAX_LIMIT); no process has that many threads.
constexpr std::size_t kMaxThreads = 1U << 20;

std::optional<std::uint64_t> hex(std::string_view word) {
  if (word.substr(0, 2) != "0x") {
    return std::nullopt;
  }
  return parse_number<std::uint64_t>(word.substr(2), 16);
}

Result<BlockedIn> bad_syscall(std::string_view text) {
  return fail(Errc::kBadData,
              "not a line of /proc/TID/syscall: " + std::string(text.substr(0, 80)));
}

}  // namespace

Result<BlockedIn> parse_proc_syscall(std::string_view text) {
  const std::vector<std::string_view> words = split_blanks(text);
  BlockedIn blocked;
  if (words.size() == 1 && words[0] == "running") {
    return blocked;
  }
  const bool outside_of_call = words.size() == 3;
  if (!outside_of_call && words.size() != 9) {
    return bad_syscall(text);
  }
  SyscallState syscall;
  const auto number = parse_number<std::int64_t>(words[0]);
  if (!number || (outside_of_call && *number != -1)) {
    return bad_syscall(text);
  }
  syscall.number = *number;
  for (std::size_t i = 0; !outside_of_call && i < syscall.arguments.size(); ++i) {
    const auto argument = hex(words[1 + i]);
    if (!argument) {
      return bad_syscall(text);
    }
    syscall.arguments.at(i) = *argument;
  }
  const auto sp = hex(words[words.size() - 2]);
  const auto pc = hex(words[words.size() - 1]);
  if (!sp || !pc) {
    return bad_syscall(text);
  }
  blocked.syscall = syscall;
  if (*sp != 0) {
    Registers registers;
    registers.sp = *sp;
    registers.pc = *pc;
    blocked.registers = registers;
  }
  return blocked;
}

Result<std::vector<pid_t>> read_tids(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  const Directory directory(::opendir(path.c_str()));
  if (directory == nullptr) {
    if (errno == ENOENT) {
      return fail(Errc::kGone, "pid " + std::to_string(pid) + " does not exist");
    }
    return fail(errno_code(errno), "cannot list " + path + ": " + errno_text(errno));
  }
  std::vector<pid_t> tids;
  while (tids.size() < kMaxThreads) {
    const dirent* entry = next_entry(directory);
    if (entry == nullptr && errno != 0 && errno != ENOENT) {  // ENOENT: it has exited
      return fail(errno_code(errno), "cannot list " + path + ": " + errno_text(errno));
    }
    if (entry == nullptr) {
      break;
    }
    if (const auto tid = parse_number<pid_t>(std::string_view(entry->d_name))) {
      tids.push_back(*tid);
    }
  }
  if (tids.empty()) {
    return fail(Errc::kGone, "pid " + std::to_string(pid) + " ended");
  }
  std::sort(tids.begin(), tids.end());
  const auto main_thread = std::find(tids.begin(), tids.end(), pid);
  if (main_thread != tids.end()) {
    std::rotate(tids.begin(), main_thread, main_thread + 1);
  }
  return tids;
}

Result<ThreadState> read_thread_state(pid_t pid, pid_t tid) {
  return TaskFiles(pid).state(tid);
}

namespace {

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
