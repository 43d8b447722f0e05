#include "attach/proc_root.h"

#include "attach/proc_path.h"
#include "attach/proc_stat.h"
#include "base/read_file.h"

namespace oddrank::attach {
namespace {

// Most main threads live: their own folder is tried first, which saves asking.
Result<std::string> read_link_of(pid_t pid, const std::string& name) {
  auto link = read_link("/proc/" + std::to_string(pid) + "/" + name);
  return link ? link : read_link(process_folder(pid) + "/" + name);
}

}  // namespace

RootPath::RootPath(std::string_view link) {
  const std::string_view path = proc_path(link).path;
  if (path.size() > 1 && path.front() == '/') {
    prefix_ = path;
  }
}

RootPath RootPath::of(pid_t pid) {
  const auto link = read_link_of(pid, "root");
  return link ? RootPath(*link) : RootPath();
}

std::string_view RootPath::below(std::string_view path) const {
  if (prefix_.empty() || !path.starts_with(prefix_)) {
    return path;
  }
  if (path.size() == prefix_.size()) {
    return "/";
  }
  return path[prefix_.size()] == '/' ? path.substr(prefix_.size()) : path;
}

Result<std::string> read_process_link(pid_t pid, const std::string& name) {
  ODDRANK_TRY(const std::string link, read_link_of(pid, name));
  return link.starts_with('/') ? std::string(RootPath::of(pid).below(link)) : link;
}

}  // namespace oddrank::attach
