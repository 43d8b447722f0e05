// A path as /proc shows it for an open or mapped file (links in /proc/PID/fd, maps; also core
// dumps): " (deleted)" follows the path of a file that has no name any more.
//
// Paths of a thread's files in /proc.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace oddrank::attach {

struct ProcPath {
  std::string_view path;  // a view of the given text
  bool deleted = false;   // always false if it is not a path: "pipe:[31]", "[heap]"
};

// Removes the mark. A file whose own name ends like that counts as deleted.
constexpr ProcPath proc_path(std::string_view text) {
  constexpr std::string_view kDeleted = " (deleted)";
  ProcPath path{text,
                text.size() > kDeleted.size() && text.front() == '/' && text.ends_with(kDeleted)};
  if (path.deleted) {
    path.path.remove_suffix(kDeleted.size());
  }
  return path;
}

// Returns "/proc/PID/task/TID/FILE".
inline std::string task_path(pid_t pid, pid_t tid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + file;
}

}  // namespace oddrank::attach
