// A path as /proc writes it where it names an open or mapped file (links in /proc/PID/fd, maps;
// core dumps do so, too): " (deleted)" follows that of a file which has no name any more.
#pragma once

#include <string_view>

namespace oddrank::attach {

struct ProcPath {
  std::string_view path;  // a view of what was given
  bool deleted = false;   // always false of what is no path: "pipe:[31]", "[heap]"
};

// Limit: a file whose own name ends so cannot be told from a deleted one.
constexpr ProcPath proc_path(std::string_view text) {
  constexpr std::string_view kDeleted = " (deleted)";
  ProcPath path{text,
                text.size() > kDeleted.size() && text.front() == '/' && text.ends_with(kDeleted)};
  if (path.deleted) {
    path.path.remove_suffix(kDeleted.size());
  }
  return path;
}

}  // namespace oddrank::attach
