#include "waits/node/owners/lock_file_owners.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "attach/files/open_named.h"
#include "attach/proc_pids.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "waits/add_note.h"
#include "waits/mounts.h"
#include "waits/node/node_family.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;

constexpr std::size_t kMaxLockText = 128;   // bytes; a longer file is not a lock file
constexpr std::size_t kMaxLockEntries = 8;  // of a directory; a larger one is not a lock
constexpr std::int64_t kNanosInSecond = 1'000'000'000;
constexpr std::int64_t kClockSlack = kNanosInSecond;  // file system clocks are coarse

std::int64_t nanos_of(const timespec& time) {
  return time.tv_sec * kNanosInSecond + time.tv_nsec;
}

std::int64_t nanos_now(clockid_t clock) {
  timespec now{};
  return ::clock_gettime(clock, &now) == 0 ? nanos_of(now) : 0;
}

// The contents of one lock file, and when it was made.
struct LockText {
  std::string text;
  std::int64_t made = 0;  // ns since 1970
};

std::optional<LockText> read_lock_text(const attach::NamedFiles& files, const std::string& path) {
  const auto status = files.examine(path);
  if (!status) {
    return std::nullopt;
  }
  LockText found;
  found.made = nanos_of(status->st_mtim);
  if (S_ISLNK(status->st_mode)) {
    found.text = files.link_text(path).value_or(std::string());
    return found;
  }
  if (!S_ISREG(status->st_mode) || static_cast<std::size_t>(status->st_size) > kMaxLockText) {
    return std::nullopt;
  }
  found.text = files.read(path, kMaxLockText).value_or(std::string());
  return found.text.empty() ? std::nullopt : std::optional(std::move(found));
}

// Returns the files in a lock directory; empty if it is not one.
std::vector<std::string> entries_of(const attach::NamedFiles& files, const std::string& folder) {
  std::vector<std::string> paths =
      files.list(folder, kMaxLockEntries + 1).value_or(std::vector<std::string>());
  if (paths.size() > kMaxLockEntries) {
    return {};
  }
  for (std::string& path : paths) {
    path.insert(0, folder + "/");
  }
  return paths;
}

std::vector<LockText> read_lock_texts(pid_t pid, const std::string& path) {
  const auto files = attach::NamedFiles::of(pid);
  const auto status = files ? files->examine(path) : tl::unexpected<Error>(files.error());
  if (!status) {
    return {};
  }
  const auto paths = S_ISDIR(status->st_mode) ? entries_of(*files, path) : std::vector{path};
  std::vector<LockText> texts;
  for (const std::string& each : paths) {
    if (auto text = read_lock_text(*files, each)) {
      texts.push_back(std::move(*text));
    }
  }
  return texts;
}

// Returns the process that has this number in the pid namespace of `waiter`; 0 if that is unknown.
pid_t process_of_number(const Capture& capture, const ProcessCapture& waiter, pid_t number) {
  const auto status = attach::read_proc_status(waiter.pid);
  if (!status || status->ns_pids.empty()) {
    return 0;
  }
  if (status->ns_pids.size() == 1) {
    return number;
  }
  std::set<pid_t> found;
  for (const ProcessCapture& each : capture.processes) {
    const auto theirs = attach::read_proc_status(each.pid);
    if (theirs && theirs->ns_pids.size() == status->ns_pids.size() &&
        theirs->ns_pids.back() == number) {
      found.insert(each.pid);
    }
  }
  return found.size() == 1 ? *found.begin() : 0;
}

// Returns whether the error means that the process has exited, not only that it cannot be read now.
bool has_exited(const Error& error) {
  return error.code == Errc::kGone || error.code == Errc::kNotFound;
}

// Returns whether the process is alive, as far as is known, and began before the file was made.
bool may_have_made(pid_t pid, const LockText& lock) {
  const auto stat = attach::read_proc_stat(pid);
  if (!stat) {
    return !has_exited(stat.error());
  }
  if (stat->state == 'Z' || stat->state == 'X') {
    return false;
  }
  const std::int64_t began = nanos_now(CLOCK_REALTIME) - nanos_now(CLOCK_BOOTTIME) +
                             static_cast<std::int64_t>(stat->start_us) * 1000;
  return began <= lock.made + kClockSlack;
}

// Returns whether no process of the node that could have made the file has this number, in whatever
// pid namespace: a container may share the folder. A process that cannot be read might have it.
bool is_gone(pid_t number, const LockText& lock) {
  const auto pids = attach::list_pids();
  return pids && std::none_of(pids->begin(), pids->end(), [&](pid_t pid) {
           const auto status = attach::read_proc_status(pid);
           const bool named =
               pid == number || (status ? std::find(status->ns_pids.begin(), status->ns_pids.end(),
                                                    number) != status->ns_pids.end()
                                        : !has_exited(status.error()));
           return named && may_have_made(pid, lock);
         });
}

// What a lock file says about the process that made it.
struct LockFileOwner {
  pid_t pid = 0;      // the only process whose number is in it; 0 if there is none, or several
  bool gone = false;  // that process has exited
};

LockFileOwner owner_of_lock_file(const Capture& capture,
                                 const ProcessCapture& process,
                                 const std::string& path) {
  const std::string folder = "/proc/" + std::to_string(process.pid);
  const auto mounts = read_file(folder + "/mountinfo", kMaxMountinfo);
  const auto mount = mounts ? mount_of(*mounts, path) : std::nullopt;
  if (!mount || is_remote(*mount)) {
    return {};
  }
  std::set<pid_t> owners;
  std::set<pid_t> gone;
  for (const LockText& lock : read_lock_texts(process.pid, path)) {
    const pid_t number = number_in_lock_file(lock.text, capture.nodes.front().host);
    const pid_t pid = number == 0 ? 0 : process_of_number(capture, process, number);
    if (pid != 0 && may_have_made(pid, lock)) {
      owners.insert(pid);
    } else if (number != 0 && is_gone(number, lock)) {
      gone.insert(number);
    }
  }
  if (owners.empty() && gone.size() == 1) {
    return {*gone.begin(), true};
  }
  const bool one = owners.size() == 1 && *owners.begin() != process.pid;
  return {one ? *owners.begin() : 0, false};
}

}  // namespace

pid_t number_in_lock_file(std::string_view text, std::string_view host) {
  const auto words = split_blanks(text);
  const bool named = words.size() < 2 || words[1] == host;
  const bool timed = words.size() < 3 || parse_number<std::uint64_t>(words[2]).has_value();
  if (words.empty() || words.size() > 3 || !named || !timed) {
    return 0;
  }
  const auto number = parse_number<pid_t>(words[0]);
  return number && *number > 1 ? *number : 0;
}

void name_lock_file_owners(Capture& capture, std::chrono::milliseconds patience) {
  const std::vector<WaitPlace> places = find_waits(capture, [&capture](const snapshot::Wait& wait) {
    return wait.how == snapshot::WaitHow::kLockFile && wait.holder_pid == 0 &&
           capture.tables.text(wait.path).starts_with('/');
  });
  if (places.empty() || capture.nodes.empty()) {
    return;
  }
  const auto search = [&](int fd) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const ProcessCapture& process = capture.processes[places[i].process];
      const snapshot::Wait& wait = process.threads[places[i].thread].wait;
      const LockFileOwner owner =
          owner_of_lock_file(capture, process, std::string(capture.tables.text(wait.path)));
      // A negative number: that process is gone.
      const pid_t number = owner.gone ? -owner.pid : owner.pid;
      send_bytes(fd, std::to_string(i) + " " + std::to_string(number) + "\n");
    }
  };
  const IsolatedResult result = run_isolated({IsolatedTask{search, patience}}, 1).front();
  for (const std::string_view line : split(result.bytes, '\n')) {
    const auto blank = line.find(' ');
    const auto index = parse_number<std::size_t>(line.substr(0, blank));
    const auto owner = index && *index < places.size() && blank != std::string_view::npos
                           ? parse_number<pid_t>(line.substr(blank + 1))
                           : std::nullopt;
    if (!owner || *owner == 0) {
      continue;
    }
    snapshot::Wait& wait =
        capture.processes[places[*index].process].threads[places[*index].thread].wait;
    if (*owner > 0) {
      wait.holder_pid = *owner;
      wait.holder_alive = snapshot::Known::kYes;
      add_note(capture, wait, "pid " + std::to_string(*owner) + " is written in it");
    } else {
      wait.holder_pid = -*owner;
      wait.holder_alive = snapshot::Known::kNo;
      add_note(capture, wait,
               "pid " + std::to_string(-static_cast<std::int64_t>(*owner)) +
                   " is written in it and is gone");
    }
  }
}

}  // namespace oddrank::waits
