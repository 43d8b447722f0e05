#include "attach/proc_view.h"

#include <unistd.h>

#include "attach/proc_status.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::attach {
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
