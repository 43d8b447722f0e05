#include "attach/proc_pids.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "attach/proc_path.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "base/unique_fd.h"

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

namespace {

constexpr std::size_t kMaxOwnMountinfo = std::size_t{1} << 20;

// CAP_SYS_PTRACE sees all processes.
bool sees_all() {
  constexpr unsigned kSysPtraceBit = 19;
  const auto status = read_proc_status(::getpid());
  return status && (status->effective_capabilities >> kSysPtraceBit & 1U) != 0;
}

// Returns the word that hides pids among the options of a mount; "" if there is none.
std::string_view option_that_hides(std::string_view options) {
  for (const std::string_view option : split(options, ',')) {
    if (option == "hidepid=2" || option == "hidepid=invisible" || option == "hidepid=4" ||
        option == "hidepid=ptraceable") {
      return option;
    }
  }
  return {};
}

std::string_view option_that_closes(std::string_view options) {
  for (const std::string_view option : split(options, ',')) {
    if (option == "hidepid=1" || option == "hidepid=noaccess") {
      return option;
    }
  }
  return {};
}

// `closed`: folders that only their owners may enter count as hidden.
std::string what_is_hidden(std::string_view mountinfo, bool privileged, bool closed) {
  std::string found = "/proc is not mounted here";
  for (const std::string_view line : split(mountinfo, '\n')) {
    // "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw,hidepid=2": the last one is on top.
    const auto words = split_blanks(line);
    if (words.size() < 6 || words[4] != "/proc") {
      continue;
    }
    const auto dash = line.find(" - ");
    const auto rest =
        split_blanks(dash == std::string_view::npos ? std::string_view() : line.substr(dash + 3));
    if (rest.size() < 3 || rest[0] != "proc") {
      found = "/proc is not the kernel's file system of processes here";
      continue;
    }
    found.clear();
    if (privileged) {
      continue;
    }
    if (const std::string_view option = option_that_hides(rest[2]); !option.empty()) {
      found = "/proc hides the processes of other users: it is mounted with " + std::string(option);
    } else if (const std::string_view shut = option_that_closes(rest[2]); closed && !shut.empty()) {
      found = "/proc shows other users' processes by their pids only: it is mounted with " +
              std::string(shut);
    }
  }
  return found;
}

}  // namespace

std::string hidden_processes(std::string_view mountinfo, bool privileged) {
  return what_is_hidden(mountinfo, privileged, false);
}

std::string hidden_contents(std::string_view mountinfo, bool privileged) {
  return what_is_hidden(mountinfo, privileged, true);
}

std::string hidden_processes() {
  const auto mountinfo = read_file("/proc/self/mountinfo", kMaxOwnMountinfo);
  return mountinfo ? hidden_processes(*mountinfo, sees_all())
                   : std::string("/proc is not mounted here");
}

std::string hidden_contents() {
  const auto mountinfo = read_file("/proc/self/mountinfo", kMaxOwnMountinfo);
  return mountinfo ? hidden_contents(*mountinfo, sees_all())
                   : std::string("/proc is not mounted here");
}

}  // namespace oddrank::attach
