#include "attach/task_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "attach/proc_path.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "attach/proc_task.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::attach {
namespace {

constexpr std::size_t kMaxStatLine = 4096;
constexpr std::size_t kMaxCallBytes = 512;
constexpr std::size_t kMaxRanBytes = 128;
// A share of what a process may have open, which is 1,024 mostly.
constexpr std::size_t kMaxKeptFiles = 512;

std::size_t files_to_keep() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0
             ? std::min<std::size_t>(files.rlim_cur / 2, kMaxKeptFiles)
             : 0;
}

// Returns the text if it tells whether the thread has run: without CONFIG_SCHED_INFO all is zero.
std::string usable_schedstat(std::string text) {
  const auto words = split_blanks(text);
  return words.size() == 3 && words[2] != "0" ? std::move(text) : std::string();
}

void take_call_text(std::string_view text, ThreadState& state) {
  state.syscall.reset();
  state.registers.reset();
  if (auto blocked = parse_proc_syscall(text)) {
    state.syscall = blocked->syscall;
    state.registers = blocked->registers;
  }
}

void take_status_text(const ProcStatus& status, ThreadState& state) {
  state.voluntary_switches = status.voluntary_switches;
  state.involuntary_switches = status.involuntary_switches;
  state.tracer = status.tracer;
  if (!status.ns_pids.empty()) {
    state.target_tid = status.ns_pids.back();
  }
}

Error gone_thread(pid_t tid) {
  return Error{Errc::kGone, "pid " + std::to_string(tid) + " does not exist", {}};
}

}  // namespace

TaskFiles::TaskFiles(pid_t pid)
    : pid_(pid),
      folder_(::open(("/proc/" + std::to_string(pid) + "/task").c_str(),
                     O_PATH | O_DIRECTORY | O_CLOEXEC)),
      files_left_(files_to_keep()) {}

UniqueFd TaskFiles::open(pid_t tid, const char* file) const {
  const std::string name = std::to_string(tid) + "/" + file;
  return folder_.valid()
             ? UniqueFd(::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY))
             : UniqueFd(
                   ::open(task_path(pid_, tid, file).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

Result<std::string> TaskFiles::read(pid_t tid, const char* file, std::size_t limit) const {
  const UniqueFd fd = open(tid, file);
  if (!fd.valid()) {
    return fail(errno == ENOENT || errno == ESRCH
                    ? gone_thread(tid)
                    : Error{errno_code(errno),
                            "cannot open " + task_path(pid_, tid, file) + ": " + errno_text(errno),
                            {}});
  }
  return read_record_of(fd.get(), task_path(pid_, tid, file), limit);
}

// The kernel takes as long to write a status as for everything else that is read of a thread.
// Except for the counters, its contents are mostly the same for all threads.
void TaskFiles::read_counters(ThreadState& state) {
  const auto text = read(state.tid, "sched", kMaxSchedBytes);
  const ProcSched sched = text ? parse_proc_sched(*text) : ProcSched();
  if (sched.last_run) {
    state.ran = RunMoment{monotonic_now(), *sched.last_run, state.cpu};
  }
  if (plain_ && state.tid != pid_ && state.state != 't' && sched.voluntary_switches &&
      sched.involuntary_switches) {
    state.voluntary_switches = *sched.voluntary_switches;
    state.involuntary_switches = *sched.involuntary_switches;
    return;
  }
  const auto status = parse_proc_status(read(state.tid, "status", kMaxStatusBytes).value_or(""));
  if (!status) {
    return;
  }
  take_status_text(*status, state);
  if (state.tid == pid_) {
    plain_ = status->tracer == 0 && status->ns_pids.size() == 1;
  }
}

// The order: first what shows that the thread has run, then its registers, then the counters. If it
// moves in between, the counters differ from another reading's.
Result<ThreadState> TaskFiles::state(pid_t tid) {
  ODDRANK_TRY(const std::string stat_text, read(tid, "stat", kMaxStatLine));
  ODDRANK_TRY(const ProcStat stat, parse_proc_stat(stat_text));
  Seen seen;
  ThreadState& state = seen.state;
  state.tid = tid;
  state.target_tid = tid;
  state.name = stat.name;
  state.state = stat.state;
  state.cpu = stat.cpu;
  state.cpu_us = stat.cpu_us;
  seen.ran_file = open(tid, "schedstat");
  if (seen.ran_file.valid()) {
    seen.ran = usable_schedstat(
        read_record_of(seen.ran_file.get(), "schedstat", kMaxRanBytes).value_or(std::string()));
  }
  seen.call_file = open(tid, "syscall");
  if (seen.call_file.valid()) {
    take_call_text(read_record_of(seen.call_file.get(), "syscall", kMaxCallBytes).value_or(""),
                   state);
  }
  if (const auto text = read(tid, "wchan", 256); text && *text != "0") {
    state.wchan = std::string(trim(*text));
  }
  read_counters(state);
  ThreadState result = state;
  const auto before = seen_.extract(tid);
  files_left_ += before.empty() || !before.mapped().ran_file.valid() ? 0 : 2;
  if (files_left_ < 2) {
    seen.ran_file = UniqueFd();
    seen.call_file = UniqueFd();
  } else if (seen.ran_file.valid()) {
    files_left_ -= 2;
  }
  seen_.insert_or_assign(tid, std::move(seen));
  return result;
}

std::optional<ThreadState> TaskFiles::unmoved(const Seen& seen, pid_t tid) const {
  if (seen.ran.empty() || seen.state.state == 'R') {
    return std::nullopt;
  }
  const bool kept = seen.ran_file.valid() && seen.call_file.valid();
  const auto call = kept ? reread_record(seen.call_file.get(), "syscall", kMaxCallBytes)
                         : read(tid, "syscall", kMaxCallBytes);
  const auto ran = kept ? reread_record(seen.ran_file.get(), "schedstat", kMaxRanBytes)
                        : read(tid, "schedstat", kMaxRanBytes);
  const bool permitted = seen.state.syscall.has_value();
  if ((permitted && !call) || !ran || *ran != seen.ran) {
    return std::nullopt;
  }
  ThreadState state = seen.state;
  take_call_text(call.value_or(""), state);
  return state;
}

Result<ThreadState> TaskFiles::motion(pid_t tid) {
  if (const auto seen = seen_.find(tid); seen != seen_.end()) {
    if (auto same = unmoved(seen->second, tid)) {
      return *std::move(same);
    }
  }
  ThreadState state;
  state.tid = tid;
  state.target_tid = tid;
  take_call_text(read(tid, "syscall", kMaxCallBytes).value_or(""), state);
  ODDRANK_TRY(const std::string text, read(tid, "status", kMaxStatusBytes));
  ODDRANK_TRY(const ProcStatus status, parse_proc_status(text));
  take_status_text(status, state);
  state.state = status.state;
  return state;
}

}  // namespace oddrank::attach
