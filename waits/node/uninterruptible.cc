#include "waits/node/uninterruptible.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attach/proc_pids.h"
#include "attach/proc_stat.h"
#include "base/deadline.h"
#include "base/read_file.h"
#include "base/split.h"
#include "waits/add_note.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using PidsByWchan = std::map<std::string, std::set<pid_t>, std::less<>>;

constexpr std::chrono::milliseconds kPatience{300};

bool sleeps_deeply(const ThreadCapture& thread, const snapshot::Tables& tables) {
  return !thread.samples.empty() && thread.samples.back().state == 'D' &&
         !tables.text(thread.wait.wchan).empty();
}

// Main threads only, as `ps` lists them. A thread that has just gone to sleep may have no wchan
// yet, "0" (Linux 6.12 and later let it wait in its CPU's queue). Its system call would help, but
// reading it may block if the process is in exec().
PidsByWchan find_all() {
  PidsByWchan found;
  const Deadline end = Deadline::after(kPatience);
  for (const pid_t pid : attach::list_pids().value_or(std::vector<pid_t>())) {
    if (end.passed()) {
      break;
    }
    const auto stat = attach::read_proc_stat(pid);
    if (!stat || stat->state != 'D' || stat->kernel_thread) {
      continue;
    }
    const auto wchan = read_file("/proc/" + std::to_string(pid) + "/wchan", 256);
    found[std::string(trim(wchan ? *wchan : std::string_view()))].insert(pid);
  }
  return found;
}

}  // namespace

void count_uninterruptible(Capture& capture) {
  PidsByWchan found;
  bool looked = false;
  for (ProcessCapture& process : capture.processes) {
    for (ThreadCapture& thread : process.threads) {
      if (!sleeps_deeply(thread, capture.tables)) {
        continue;
      }
      if (!looked) {
        found = find_all();
        looked = true;
      }
      const std::string wchan(capture.tables.text(thread.wait.wchan));
      const auto same = found.find(wchan);
      const std::size_t others =
          same == found.end() ? 0 : same->second.size() - same->second.count(process.pid);
      if (others > 0) {
        add_note(capture, thread.wait,
                 std::string(others == 1 ? "so is " : "so are ") + std::to_string(others) +
                     " other process" + (others == 1 ? "" : "es") + " of this node");
      }
    }
  }
}

}  // namespace oddrank::waits
