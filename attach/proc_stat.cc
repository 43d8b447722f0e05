#include "attach/proc_stat.h"

#include <unistd.h>

#include <limits>
#include <optional>
#include <vector>

#include "attach/proc_path.h"
#include "attach/proc_task.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::attach {
namespace {

// PF_KTHREAD of the kernel's include/linux/sched.h; the same since 2.6.27.
constexpr std::uint64_t kKernelThreadFlag = 0x00200000;
// PF_FORKNOEXEC, the same since 2.6.12.
constexpr std::uint64_t kForkedFlag = 0x00000040;

// Position of a field after the name: field 3 of proc(5), the state, is 0 here.
enum Field : std::size_t {
  kState = 0,
  kParent = 1,
  kGroup = 2,
  kSession = 3,
  kFlags = 6,
  kUserTime = 11,
  kSystemTime = 12,
  kThreads = 17,
  kStart = 19,
  kCpu = 36,
  kExitCode = 49,
};

std::uint64_t ticks_to_us(std::uint64_t ticks) {
  static const long per_second = ::sysconf(_SC_CLK_TCK);
  const std::uint64_t us = per_second > 0 ? 1000000U / static_cast<std::uint64_t>(per_second) : 0;
  constexpr auto kMaxUs = std::numeric_limits<std::uint64_t>::max();
  return us != 0 && ticks > kMaxUs / us ? kMaxUs : ticks * us;
}

Result<ProcStat> bad_stat() {
  return fail(Errc::kBadData, "not a stat line of a process");
}

Result<ProcStat> read_stat_file(const std::string& path, pid_t pid) {
  auto text = read_record(path, 4096);
  if (!text) {
    if (text.error().code == Errc::kNotFound) {
      return fail(Errc::kGone, "pid " + std::to_string(pid) + " does not exist");
    }
    return fail(std::move(text).error());
  }
  auto stat = parse_proc_stat(*text);
  if (!stat) {
    return fail(std::move(stat).error().in(path));
  }
  return stat;
}

bool has_ended(const ProcStat& stat) {
  return stat.state == 'Z' || stat.state == 'X';
}

// Looks whether other threads outlive the main thread. (The kernel counts a thread until it is
// reaped, and the main thread is reaped last.)
void find_living(ProcStat& main) {
  const auto tids = read_tids(main.pid);
  for (std::size_t i = 0; tids && i < tids->size(); ++i) {
    const auto stat = read_thread_stat(main.pid, (*tids)[i]);
    if (stat && !has_ended(*stat)) {
      main.living = stat->pid;
      main.state = stat->state;
      return;
    }
  }
}

}  // namespace

Result<ProcStat> parse_proc_stat(std::string_view text) {
  // The name may itself hold ") R 1 (": the last bracket ends it, since only the state and numbers
  // follow.
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return bad_stat();
  }
  ProcStat stat;
  const auto pid = parse_number<pid_t>(trim(text.substr(0, open)));
  const std::vector<std::string_view> fields = split_blanks(text.substr(close + 1));
  if (!pid || fields.size() <= kStart || fields[kState].size() != 1) {
    return bad_stat();
  }
  const auto parent = parse_number<pid_t>(fields[kParent]);
  const auto group = parse_number<pid_t>(fields[kGroup]);
  const auto session = parse_number<pid_t>(fields[kSession]);
  const auto flags = parse_number<std::uint64_t>(fields[kFlags]);
  const auto user = parse_number<std::uint64_t>(fields[kUserTime]);
  const auto system = parse_number<std::uint64_t>(fields[kSystemTime]);
  const auto threads = parse_number<std::int32_t>(fields[kThreads]);
  const auto start = parse_number<std::uint64_t>(fields[kStart]);
  if (!parent || !group || !session || !flags || !user || !system || !threads || !start) {
    return bad_stat();
  }
  stat.pid = *pid;
  stat.name = std::string(text.substr(open + 1, close - open - 1));
  stat.state = fields[kState][0];
  stat.parent = *parent;
  stat.group = *group;
  stat.session = *session;
  stat.kernel_thread = (*flags & kKernelThreadFlag) != 0;
  stat.forked = (*flags & kForkedFlag) != 0;
  stat.cpu_us = ticks_to_us(*user) + ticks_to_us(*system);
  stat.start_us = ticks_to_us(*start);
  stat.threads = *threads;
  if (fields.size() > kCpu) {  // since Linux 2.2.8
    stat.cpu = parse_number<int>(fields[kCpu]).value_or(-1);
  }
  if (fields.size() > kExitCode) {  // since Linux 3.5
    stat.exit_code = parse_number<std::int32_t>(fields[kExitCode]).value_or(0);
  }
  return stat;
}

Result<ProcStat> read_proc_stat(pid_t pid) {
  auto stat = read_stat_file("/proc/" + std::to_string(pid) + "/stat", pid);
  if (stat && stat->pid == pid && has_ended(*stat) && stat->threads > 1) {
    find_living(*stat);
  }
  return stat;
}

std::string process_folder(pid_t pid) {
  std::string folder = "/proc/" + std::to_string(pid);
  // A process that has ended has no working directory. The link costs a tenth of the stat of many
  // threads.
  if (read_link(folder + "/cwd")) {
    return folder;
  }
  const auto stat = read_proc_stat(pid);
  if (stat && stat->living != 0) {
    folder += "/task/" + std::to_string(stat->living);
  }
  return folder;
}

Result<std::string> read_process_file(pid_t pid, const char* name, std::size_t limit) {
  auto text = read_file("/proc/" + std::to_string(pid) + "/" + name, limit);
  return text && !text->empty() ? text : read_file(process_folder(pid) + "/" + name, limit);
}

Result<ProcStat> read_thread_stat(pid_t pid, pid_t tid) {
  return read_stat_file(task_path(pid, tid, "stat"), tid);
}

}  // namespace oddrank::attach
