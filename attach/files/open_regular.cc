#include "attach/files/open_regular.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "attach/files/open_as.h"
#include "attach/files/open_path.h"

namespace oddrank::attach {
namespace {

Error cannot_open(const std::string& path, int reason) {
  return {errno_code(reason), "cannot open " + path + ": " + errno_text(reason), ""};
}

}  // namespace

Result<UniqueFd> open_regular(const std::string& path) {
  const UniqueFd found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found.valid()) {
    return fail(cannot_open(path, errno));
  }
  return open_found(found, path);
}

Result<UniqueFd> open_regular_below(const std::string& root, const std::string& path) {
  const UniqueFd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    return fail(cannot_open(root, errno));
  }
  ODDRANK_TRY(const UniqueFd found, find_below(folder, path, LastLink::kFollowed));
  return open_found(found, root + path);
}

Result<UniqueFd> open_found_file(const std::string& path) {
  const UniqueFd entry(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!entry.valid() || ::fstat(entry.get(), &facts) != 0) {
    return fail(cannot_open(path, errno));
  }
  if (!S_ISLNK(facts.st_mode)) {
    return open_found(entry, path);  // its owner could read it
  }
  ODDRANK_TRY(const ActAs acting, ActAs::begin(rights_of_owner(facts.st_uid, facts.st_gid)));
  return open_regular(path);
}

}  // namespace oddrank::attach
