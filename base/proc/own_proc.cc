#include "base/proc/own_proc.h"

#include <unistd.h>

#include <string>

#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank {
namespace {

constexpr std::size_t kMaxOwnStatus = 65536;

// Returns the pids of the line "NSpid:\t4711\t5": of /proc's namespace first, of our own last.
std::string_view ns_pids(std::string_view status) {
  constexpr std::string_view kName = "NSpid:";
  for (const std::string_view line : split(status, '\n')) {
    if (line.starts_with(kName)) {
      return trim(line.substr(kName.size()));
    }
  }
  return {};
}

}  // namespace

Status check_own_proc(int pid, std::string_view self, std::string_view status) {
  const std::string own = std::to_string(pid);
  const std::string_view listed = ns_pids(status);
  if (self == own && (listed.empty() || listed == own)) {
    return ok();
  }
  const std::string sees =
      self.empty() ? "it does not show this process"
                   : "this process, pid " + own + ", is pid " + std::string(self) + " there";
  return fail(
      Errc::kUnsupported, "/proc is not that of our own pid namespace: " + sees,
      "enter both namespaces of the container (nsenter --mount --pid --target PID), or give "
      "oddrank a /proc of its own: unshare --mount sh -c 'mount -t proc proc /proc && "
      "oddrank ...'");
}

Status check_own_proc() {
  if (!read_file("/proc/version", kMaxOwnStatus)) {
    return ok();
  }
  const auto self = read_link("/proc/self");
  const auto status = read_file("/proc/self/status", kMaxOwnStatus);
  return check_own_proc(::getpid(), self.value_or(""), status.value_or(""));
}

}  // namespace oddrank
