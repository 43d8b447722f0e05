#include "attach/state_check.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "attach/proc_stat.h"
#include "attach/proc_task.h"
#include "attach/task_path.h"

namespace oddrank::attach {
namespace {

StopEnd failed(int error_number, std::string& why) {
  if (error_number == EPERM || error_number == EACCES || error_number == EMFILE) {
    why = "its state cannot be read: " + errno_text(error_number);
    return StopEnd::kRefused;
  }
  why = "it ended";
  return StopEnd::kGone;
}

}  // namespace

char state_letter(pid_t pid, pid_t tid) {
  const auto stat = read_thread_stat(pid, tid);
  return stat ? stat->state : 'X';
}

void StateCheck::prepare(pid_t pid, pid_t tid) {
  file_ = UniqueFd(::open(task_path(pid, tid, "syscall").c_str(), O_RDONLY | O_CLOEXEC));
}

StopEnd StateCheck::take(pid_t pid, ThreadState& seen, std::string& why) {
  if (!file_.valid()) {
    prepare(pid, seen.tid);
  }
  if (!file_.valid()) {
    return failed(errno, why);
  }
  std::array<char, 512> text{};
  const ssize_t got = ::pread(file_.get(), text.data(), text.size(), 0);
  if (got <= 0) {
    return failed(got < 0 ? errno : ESRCH, why);
  }
  const auto now = parse_proc_syscall({text.data(), static_cast<std::size_t>(got)});
  if (now && !now->syscall) {
    seen.state = 'R';
    return StopEnd::kHeld;
  }
  if (!now || !seen.syscall) {
    return StopEnd::kSpared;
  }
  // `seen` has the call's own number (restarted_call.h). Every call that is shown as
  // restart_syscall is one that the kernel begins again after a stop.
  const std::int64_t number = now->syscall->number;
  if (number != seen.syscall->number && number != SYS_restart_syscall) {
    return StopEnd::kSpared;
  }
  // A thread in the same call sleeps as before, or in state D: then the stop comes late and does no
  // harm. A thread stopped by SIGSTOP may have been woken in its call.
  const bool as_seen =
      seen.state == 'S' || (seen.state == 'T' && state_letter(pid, seen.tid) == 'T');
  return as_seen ? StopEnd::kHeld : StopEnd::kSpared;
}

}  // namespace oddrank::attach
