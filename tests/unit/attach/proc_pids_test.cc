#include "attach/proc_pids.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "attach/proc_stat.h"
#include "base/isolated.h"
#include "base/read_file.h"
#include "tests/support/catch.h"
#include "tests/support/emulated.h"

namespace oddrank::attach {
namespace {

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

// Returns what is wrong with the list after the kernel's threads were noted.
std::string complaints() {
  const auto before = list_pids();
  note_kernel_threads();
  const auto after = list_pids();
  if (!before || !after || !contains(*after, ::getpid())) {
    return "no list";
  }
  std::string wrong;
  std::size_t left_out = 0;
  for (const pid_t pid : *before) {
    const auto stat = read_proc_stat(pid);
    if (!stat || contains(*after, pid)) {
      continue;  // it may have ended between the lists
    }
    ++left_out;
    wrong += stat->kernel_thread ? "" : std::to_string(pid) + " is left out; ";
  }
  const auto daemon = read_proc_stat(2);
  const auto children = read_file("/proc/2/task/2/children", 65536);
  if (daemon && daemon->kernel_thread && children && !children->empty() && left_out < 2) {
    wrong += "nothing is left out";
  }
  return wrong;
}

TEST_CASE("proc_pids: kernel threads are left out once they were noted, and nobody else") {
  ODDRANK_NEEDS_KERNEL();
  // In a child: the list of this process stays whole.
  const IsolatedTask task{[](int fd) { send_bytes(fd, complaints() + "."); },
                          std::chrono::milliseconds(20000)};
  CHECK(run_isolated({task}, 1).front().bytes == ".");
}

}  // namespace
}  // namespace oddrank::attach
