#include "waits/node/stuck_processes.h"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attach/clocks/run_clock.h"
#include "attach/proc_pids.h"
#include "attach/proc_stat.h"
#include "base/deadline.h"
#include "base/read_file.h"
#include "base/span_words.h"
#include "base/split.h"
#include "waits/add_note.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using PidsByWchan = std::map<std::string, std::set<pid_t>, std::less<>>;
using std::chrono::microseconds;

constexpr std::chrono::milliseconds kSearchPatience{300};
constexpr std::chrono::seconds kLong{5};

struct Stuck {
  attach::ProcStat stat;
  microseconds quiet{0};
};

std::string wchan_of(pid_t pid) {
  const auto wchan = read_file("/proc/" + std::to_string(pid) + "/wchan", 256);
  return wchan ? std::string(trim(*wchan)) : std::string();
}

std::string description(const Stuck& stuck) {
  const std::string place = wchan_of(stuck.stat.pid);
  return "pid " + std::to_string(stuck.stat.pid) + " (" + stuck.stat.name +
         ") has been in state D for " +
         span_words(std::chrono::duration_cast<std::chrono::milliseconds>(stuck.quiet)) +
         (place.empty() || place == "0" ? "" : ", in " + place);
}

bool sleeps_deeply(const ThreadCapture& thread, const snapshot::Tables& tables) {
  return !thread.samples.empty() && thread.samples.back().state == 'D' &&
         !tables.text(thread.wait.wchan).empty();
}

// Main threads only, as `ps` lists them. A thread that has just gone to sleep may have no wchan
// yet, "0" (Linux 6.12 and later let it wait in its CPU's queue). Its system call would help, but
// reading it may block if the process is in exec().
PidsByWchan find_deep_sleepers() {
  PidsByWchan found;
  const Deadline end = Deadline::after(kSearchPatience);
  for (const pid_t pid : attach::list_pids().value_or(std::vector<pid_t>())) {
    if (end.passed()) {
      break;
    }
    const auto stat = attach::read_proc_stat(pid);
    if (!stat || stat->state != 'D' || stat->kernel_thread) {
      continue;
    }
    found[wchan_of(pid)].insert(pid);
  }
  return found;
}

}  // namespace

std::string stuck_processes_note(const std::vector<attach::ProcStat>& sleeping,
                                 const snapshot::Capture& capture) {
  auto clock = sleeping.empty() ? std::nullopt : attach::RunClock::here();
  if (!clock) {
    return {};
  }
  std::set<pid_t> own;
  for (const snapshot::ProcessCapture& process : capture.processes) {
    own.insert(process.pid);
  }
  const Deadline end = Deadline::after(kSearchPatience);
  std::optional<Stuck> longest;
  std::size_t count = 0;
  for (const attach::ProcStat& stat : sleeping) {
    if (end.passed()) {
      break;
    }
    if (stat.kernel_thread || own.contains(stat.pid)) {
      continue;
    }
    const auto quiet = clock->find_not_run_for(stat.pid, stat.pid, stat.cpu);
    if (!quiet || *quiet < kLong) {
      continue;
    }
    ++count;
    if (!longest || *quiet > longest->quiet) {
      longest = Stuck{stat, *quiet};
    }
  }
  if (!longest) {
    return {};
  }
  std::string note = description(*longest);
  if (count > 1) {
    note += count == 2 ? "; so has 1 more process that is not the job's"
                       : "; so have " + std::to_string(count - 1) +
                             " more processes that are not the job's";
  } else {
    note += "; it is not the job's";
  }
  return note;
}

void count_uninterruptible(Capture& capture) {
  PidsByWchan found;
  bool looked = false;
  for (ProcessCapture& process : capture.processes) {
    for (ThreadCapture& thread : process.threads) {
      if (!sleeps_deeply(thread, capture.tables)) {
        continue;
      }
      if (!looked) {
        found = find_deep_sleepers();
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
