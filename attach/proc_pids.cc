#include "attach/proc_pids.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "attach/proc_stat.h"
#include "attach/proc_view.h"
#include "attach/task_path.h"
#include "base/directory.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::attach {
namespace {

constexpr pid_t kThreadDaemon = 2;  // kthreadd, the parent of all kernel threads
constexpr std::size_t kMaxChildren = std::size_t{1} << 20;  // bytes

// Sorted.
std::vector<pid_t>& kernel_threads() {
  static std::vector<pid_t> threads;
  return threads;
}

bool is_kernel_thread(pid_t pid) {
  const auto stat = read_proc_stat(pid);
  return stat && stat->kernel_thread;
}

}  // namespace

Result<std::vector<pid_t>> list_pids() {
  const Directory directory(::opendir("/proc"));
  if (directory == nullptr) {
    return fail(errno_code(errno), "cannot list /proc: " + errno_text(errno),
                "oddrank needs a mounted /proc");
  }
  std::vector<pid_t> pids;
  const std::vector<pid_t>& skipped = kernel_threads();
  while (const dirent* entry = next_entry(directory)) {
    const auto pid = parse_number<pid_t>(std::string_view(entry->d_name));
    if (pid && !std::binary_search(skipped.begin(), skipped.end(), *pid)) {
      pids.push_back(*pid);
    }
  }
  if (errno != 0) {
    return fail(errno_code(errno), "cannot list /proc: " + errno_text(errno));
  }
  if (pids.empty()) {  // we ourselves are always in it
    return fail(Errc::kUnsupported, "cannot list processes: " + hidden_processes(),
                "oddrank needs a mounted /proc");
  }
  return pids;
}

void note_kernel_threads() {
  std::vector<pid_t>& threads = kernel_threads();
  threads.clear();
  if (!is_kernel_thread(kThreadDaemon)) {
    return;
  }
  threads.push_back(kThreadDaemon);
  const auto children =
      read_file(task_path(kThreadDaemon, kThreadDaemon, "children"), kMaxChildren);
  for (const std::string_view word : split_blanks(children ? *children : std::string_view())) {
    // Programs that the kernel starts are children of the same parent.
    const auto pid = parse_number<pid_t>(word);
    if (pid && is_kernel_thread(*pid)) {
      threads.push_back(*pid);
    }
  }
  std::sort(threads.begin(), threads.end());
}

}  // namespace oddrank::attach
