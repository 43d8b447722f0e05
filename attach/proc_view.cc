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

// Returns the word that hides processes among the options of a mount; "" if there is none.
std::string_view hiding_option(std::string_view options) {
  for (const std::string_view option : split(options, ',')) {
    if (option == "hidepid=2" || option == "hidepid=invisible" || option == "hidepid=4" ||
        option == "hidepid=ptraceable") {
      return option;
    }
  }
  return {};
}

}  // namespace

std::string hidden_processes(std::string_view mountinfo, bool privileged) {
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
    const std::string_view option = privileged ? std::string_view() : hiding_option(rest[2]);
    found = option.empty() ? std::string()
                           : "/proc hides the processes of other users: it is mounted with " +
                                 std::string(option);
  }
  return found;
}

std::string hidden_processes() {
  const auto mountinfo = read_file("/proc/self/mountinfo", kMaxOwnMountinfo);
  return mountinfo ? hidden_processes(*mountinfo, sees_all())
                   : std::string("/proc is not mounted here");
}

}  // namespace oddrank::attach
