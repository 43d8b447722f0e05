#include "waits/node/owners/lock_file_owners.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/files/open_named.h"
#include "attach/proc_pids.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "base/clock_us.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/span_words.h"
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

// Anybody can give a file any time: the sums must not overflow.
std::int64_t nanos_of(const timespec& time) {
  constexpr std::int64_t kMaxSeconds = 6'000'000'000;
  return std::clamp<std::int64_t>(time.tv_sec, -kMaxSeconds, kMaxSeconds) * kNanosInSecond +
         time.tv_nsec;
}

// Returns when a process began, in ns since 1970, from its start since boot.
std::int64_t began_at(std::uint64_t start_us) {
  return static_cast<std::int64_t>(realtime_at(start_us)) * 1000;
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
  return began_at(stat->start_us) <= lock.made + kClockSlack;
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

// Returns where the process sees the path; nullopt if that is unknown.
std::optional<Mount> mount_seen_by(pid_t pid, const std::string& path) {
  const auto mounts = read_file("/proc/" + std::to_string(pid) + "/mountinfo", kMaxMountinfo);
  return mounts ? mount_of(*mounts, path) : std::nullopt;
}

LockFileOwner owner_of_lock_file(const Capture& capture,
                                 const ProcessCapture& process,
                                 const std::string& path) {
  const auto mount = mount_seen_by(process.pid, path);
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

// Returns the note on the file's age; "" if there is nothing to say.
std::string age_words(const ProcessCapture& process, const std::string& path) {
  const auto mount = mount_seen_by(process.pid, path);
  if (!mount) {
    return {};
  }
  if (is_remote(*mount)) {
    return "on " + mount_words(*mount) + ", so its age was not read";
  }
  const auto files = attach::NamedFiles::of(process.pid);
  const auto status = files ? files->examine(path) : tl::unexpected<Error>(files.error());
  if (!status) {
    return {};
  }
  const std::int64_t made = nanos_of(status->st_mtim);
  const auto age = std::chrono::nanoseconds(
      std::max<std::int64_t>(0, static_cast<std::int64_t>(clock_us(CLOCK_REALTIME)) * 1000 - made));
  const bool before = process.start_us > 0 && made + kClockSlack < began_at(process.start_us);
  return "made " + span_words(std::chrono::floor<std::chrono::seconds>(age)) + " ago" +
         (before ? ", before this process began" : "");
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

void describe_lock_files(Capture& capture, std::chrono::milliseconds patience) {
  const std::vector<WaitPlace> places = find_waits(capture, [&capture](const snapshot::Wait& wait) {
    return wait.how == snapshot::WaitHow::kLockFile &&
           capture.tables.text(wait.path).starts_with('/');
  });
  const std::size_t count = capture.nodes.empty() ? 0 : places.size();
  // The owners come first: an age is only a note.
  const auto answers = answers_in_child(2 * count, patience, [&](std::size_t i) {
    const ProcessCapture& process = capture.processes[places[i % count].process];
    const snapshot::Wait& wait = process.threads[places[i % count].thread].wait;
    const std::string path(capture.tables.text(wait.path));
    if (i >= count) {
      return age_words(process, path);
    }
    const LockFileOwner owner =
        wait.holder_pid == 0 ? owner_of_lock_file(capture, process, path) : LockFileOwner();
    // A negative number: that process is gone.
    return std::to_string(owner.gone ? -owner.pid : owner.pid);
  });
  for (std::size_t i = 0; i < count; ++i) {
    snapshot::Wait& wait = capture.processes[places[i].process].threads[places[i].thread].wait;
    const auto owner = parse_number<pid_t>(answers[i]);
    if (owner && *owner != 0 && *owner != std::numeric_limits<pid_t>::min()) {
      const pid_t pid = *owner > 0 ? *owner : -*owner;
      wait.holder_pid = pid;
      wait.holder_alive = *owner > 0 ? snapshot::Known::kYes : snapshot::Known::kNo;
      add_note(
          capture, wait,
          "pid " + std::to_string(pid) + " is written in it" + (*owner > 0 ? "" : " and is gone"));
    }
    if (const std::string& age = answers[count + i]; !age.empty()) {
      add_note(capture, wait, age);
    }
  }
}

}  // namespace oddrank::waits
