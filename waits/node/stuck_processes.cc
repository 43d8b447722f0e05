#include "waits/node/stuck_processes.h"

#include <chrono>
#include <optional>
#include <set>
#include <string_view>

#include "attach/clocks/run_clock.h"
#include "base/deadline.h"
#include "base/read_file.h"
#include "base/span_words.h"
#include "base/split.h"

namespace oddrank::waits {
namespace {

using std::chrono::microseconds;

constexpr std::chrono::milliseconds kSearchPatience{300};
constexpr std::chrono::seconds kLong{5};

struct Stuck {
  attach::ProcStat stat;
  microseconds quiet{0};
};

std::string description(const Stuck& stuck) {
  const std::string pid = std::to_string(stuck.stat.pid);
  const auto wchan = read_file("/proc/" + pid + "/wchan", 256);
  const std::string_view place = wchan ? trim(*wchan) : std::string_view();
  return "pid " + pid + " (" + stuck.stat.name + ") has been in state D for " +
         span_words(std::chrono::duration_cast<std::chrono::milliseconds>(stuck.quiet)) +
         (place.empty() || place == "0" ? "" : ", in " + std::string(place));
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

}  // namespace oddrank::waits
