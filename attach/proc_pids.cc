#include "attach/proc_pids.h"

#include <dirent.h>

#include <cerrno>
#include <string_view>

#include "attach/proc_view.h"
#include "base/directory.h"
#include "base/parse_number.h"

namespace oddrank::attach {

Result<std::vector<pid_t>> list_pids() {
  const Directory directory(::opendir("/proc"));
  if (directory == nullptr) {
    return fail(errno_code(errno), "cannot list /proc: " + errno_text(errno),
                "oddrank needs a mounted /proc");
  }
  std::vector<pid_t> pids;
  while (const dirent* entry = next_entry(directory)) {
    if (const auto pid = parse_number<pid_t>(std::string_view(entry->d_name))) {
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

}  // namespace oddrank::attach
