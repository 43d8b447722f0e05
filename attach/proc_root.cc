#include "attach/proc_root.h"

#include "attach/proc_path.h"
#include "attach/proc_stat.h"
#include "base/read_file.h"

namespace oddrank::attach {
namespace {

std::string link_name(pid_t pid, const std::string& name) {
  return process_folder(pid) + "/" + name;
}

}  // namespace

RootPath::RootPath(std::string_view link) {
  const std::string_view path = proc_path(link).path;
  if (path.size() > 1 && path.front() == '/') {
    prefix_ = path;
  }
}

RootPath RootPath::of(pid_t pid) {
  const auto link = read_link(link_name(pid, "root"));
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
  ODDRANK_TRY(const std::string link, read_link(link_name(pid, name)));
  return link.starts_with('/') ? std::string(RootPath::of(pid).below(link)) : link;
}

}  // namespace oddrank::attach
