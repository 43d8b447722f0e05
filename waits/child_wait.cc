#include "waits/child_wait.h"

#include <sys/wait.h>

#include <string_view>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::waits {
namespace {

bool same_namespace(const WaitContext& context) {
  return context.thread.target_tid == context.thread.tid;
}

void name_child(const WaitContext& context, std::int64_t pid, ThreadWait& wait) {
  if (pid > 0 && same_namespace(context)) {
    wait.holder_pid = static_cast<pid_t>(pid);
  }
  wait.detail = "waits for child pid " + std::to_string(pid) +
                (same_namespace(context) ? "" : " (of its own pid namespace)");
}

// "Pid:\t123" in the fdinfo of a pidfd, in the pid namespace of the reader; -1 means that it has
// exited.
std::int64_t pid_of_pidfd(std::string_view fdinfo) {
  for (const std::string_view line : split(fdinfo, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 2 && words[0] == "Pid:") {
      return parse_number<std::int64_t>(words[1]).value_or(0);
    }
  }
  return 0;
}

void read_waitid(const WaitContext& context, ThreadWait& wait) {
  const auto& arguments = context.thread.syscall->arguments;
  const auto id = static_cast<std::int32_t>(arguments[1]);
  switch (static_cast<int>(arguments[0])) {
    case P_PID:
      name_child(context, id, wait);
      return;
    case P_PIDFD:
      wait.fd = id;
      if (const auto pid = pid_of_pidfd(context.files.info(id)); pid > 0) {
        wait.holder_pid = static_cast<pid_t>(pid);
        wait.detail = "waits for child pid " + std::to_string(pid);
      }
      return;
    default:
      return;
  }
}

}  // namespace

void read_child_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait) {
  wait.on = snapshot::WaitOn::kChild;
  if (info.kind == SyscallKind::kVfork) {
    wait.detail = "waits for its new child to start its program (" + wait.syscall_name + ")";
    return;
  }
  wait.detail = "waits for any of its children";
  if (info.kind == SyscallKind::kWaitid) {
    read_waitid(context, wait);
    return;
  }
  // 0 and values below -1 mean any child of a process group.
  const auto pid = static_cast<std::int32_t>(context.thread.syscall->arguments[0]);
  if (pid > 0) {
    name_child(context, pid, wait);
  }
}

}  // namespace oddrank::waits
