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

TEST_CASE("a /proc that hides processes is told from one that shows them", "[attach]") {
  const char* const plain =
      "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n22 1 0:21 / /proc rw - proc proc rw\n";
  CHECK(hidden_processes(plain, false).empty());
  const char* const hiding =
      "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw,hidepid=2,gid=7\n";
  CHECK(hidden_processes(hiding, false) ==
        "/proc hides the processes of other users: it is mounted with hidepid=2");
  CHECK(hidden_processes(hiding, true).empty());
  CHECK(hidden_processes("22 1 0:21 / /proc rw - proc proc rw,hidepid=invisible\n", false)
            .find("invisible") != std::string::npos);
  CHECK(hidden_processes("22 1 0:21 / /proc rw - proc proc rw,hidepid=1\n", false).empty());
  CHECK(hidden_contents("22 1 0:21 / /proc rw - proc proc rw,hidepid=noaccess\n", false) ==
        "/proc shows other users' processes by their pids only: it is mounted with "
        "hidepid=noaccess");
  CHECK(hidden_contents("22 1 0:21 / /proc rw - proc proc rw,hidepid=1\n", true).empty());
  CHECK(hidden_contents(hiding, false) == hidden_processes(hiding, false));
  CHECK(hidden_contents(plain, false).empty());
}

TEST_CASE("the mount on top of /proc counts", "[attach]") {
  CHECK(hidden_processes("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n", true) ==
        "/proc is not mounted here");
  const char* const covered =
      "22 1 0:21 / /proc rw - proc proc rw\n23 22 0:50 / /proc rw - tmpfs none rw\n";
  CHECK(hidden_processes(covered, true).find("not the kernel's") != std::string::npos);
}

}  // namespace oddrank::attach
