#include "attach/files/open_path.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/files/open_as.h"
#include "base/split.h"

namespace oddrank::attach {

namespace {

constexpr int kMaxLinksOnPath = 40;  // as the kernel's MAXSYMLINKS
constexpr int kMaxRaces = 8;         // a folder on the way was renamed meanwhile
constexpr std::size_t kMaxDepthOfPath = 512;

Error not_found(const std::string& path, int reason) {
  return {errno_code(reason), "cannot open " + path + ": " + errno_text(reason), ""};
}

// File systems that are views of the kernel: a file there may show more to some readers than to
// others, also after it was opened.
bool is_of_kernel(const UniqueFd& found) {
  constexpr std::array<unsigned long, 9> kViews = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,        DEBUGFS_MAGIC,       TRACEFS_MAGIC, SECURITYFS_MAGIC,
      BPF_FS_MAGIC,     CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SELINUX_MAGIC};
  struct statfs facts {};
  return ::fstatfs(found.get(), &facts) == 0 &&
         std::find(kViews.begin(), kViews.end(), static_cast<unsigned long>(facts.f_type)) !=
             kViews.end();
}

// The folders from the root to where the walk is. A step back goes to a folder that was held, not
// to the present parent of one that may have been moved out of the root.
class Walk {
 public:
  Walk(const UniqueFd& root, const std::string& path, LastLink last)
      : root_(root), path_(path), last_(last) {
    prepend(path);
  }

  Result<UniqueFd> run();

 private:
  int here() const { return way_.empty() ? root_.get() : way_.back().get(); }
  void prepend(std::string_view names);
  // Replaces a link by its text. Returns an errno, 0 if it is done.
  int follow(const UniqueFd& link);
  Result<UniqueFd> refuse(int reason) const { return fail(not_found(path_, reason)); }

  const UniqueFd& root_;
  const std::string& path_;
  LastLink last_;
  std::vector<UniqueFd> way_;
  std::deque<std::string> rest_;
  int links_ = 0;
};

void Walk::prepend(std::string_view names) {
  std::vector<std::string> steps;
  for (const std::string_view name : split(names, '/')) {
    if (!name.empty() && name != ".") {
      steps.emplace_back(name);
    }
  }
  rest_.insert(rest_.begin(), steps.begin(), steps.end());
}

int Walk::follow(const UniqueFd& link) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlinkat(link.get(), "", text.data(), text.size());
  if (size <= 0) {
    return ENOENT;
  }
  if (++links_ > kMaxLinksOnPath || is_of_kernel(link)) {
    return ELOOP;
  }
  if (text.front() == '/') {
    way_.clear();
  }
  prepend(std::string_view(text.data(), static_cast<std::size_t>(size)));
  return 0;
}

Result<UniqueFd> Walk::run() {
  while (!rest_.empty()) {
    const std::string name = std::move(rest_.front());
    rest_.pop_front();
    if (name == "..") {
      if (!way_.empty()) {
        way_.pop_back();
      }
      continue;
    }
    if (way_.size() >= kMaxDepthOfPath) {
      return refuse(ENAMETOOLONG);
    }
    UniqueFd next(::openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts {};
    if (!next.valid() || ::fstat(next.get(), &facts) != 0) {
      return refuse(errno);
    }
    if (S_ISLNK(facts.st_mode) && (!rest_.empty() || last_ == LastLink::kFollowed)) {
      if (const int reason = follow(next); reason != 0) {
        return refuse(reason);
      }
      continue;
    }
    way_.push_back(std::move(next));
  }
  if (!way_.empty()) {
    return std::move(way_.back());
  }
  UniqueFd root(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  return root.valid() ? Result<UniqueFd>(std::move(root)) : refuse(errno);
}

}  // namespace

Result<UniqueFd> walk_below(const UniqueFd& root, const std::string& path, LastLink last) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(not_found(path, ENOENT));
  }
  return Walk(root, path, last).run();
}

Result<UniqueFd> find_below(const UniqueFd& root, const std::string& path, LastLink last) {
  if (path.find('\0') != std::string::npos) {
    return fail(not_found(path, ENOENT));
  }
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.flags |= last == LastLink::kRefused ? O_NOFOLLOW : 0;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0; tries < kMaxRaces; ++tries) {
    UniqueFd found(
        static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
    if (found.valid()) {
      return found;
    }
    if (errno == ENOSYS || errno == EPERM) {
      return walk_below(root, path, last);
    }
    if (errno != EAGAIN && errno != EINTR) {
      return fail(not_found(path, errno));
    }
  }
  return walk_below(root, path, last);
}

Result<UniqueFd> open_found(const UniqueFd& found, const std::string& path) {
  struct stat info {};
  if (::fstat(found.get(), &info) != 0) {
    return fail(errno_code(errno), "cannot examine " + path + ": " + errno_text(errno));
  }
  if (!S_ISREG(info.st_mode) || is_of_kernel(found)) {
    return fail(Errc::kUnsupported, path + " is not a regular file");
  }
  // The link of our own descriptor leads to that file whatever its name is now. O_NONBLOCK: another
  // process's lease on the file must not keep us waiting.
  const std::string again = "/proc/self/fd/" + std::to_string(found.get());
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  UniqueFd fd(::open(again.c_str(), kFlags | O_NOATIME));
  if (!fd.valid() && errno == EPERM) {  // of another user
    fd = UniqueFd(::open(again.c_str(), kFlags));
  }
  if (!fd.valid()) {
    return fail(not_found(path, errno));
  }
  return fd;
}

Result<UniqueFd> open_below_as(const UniqueFd& root,
                               const std::string& path,
                               LastLink last,
                               const Rights& rights) {
  ODDRANK_TRY(const ActAs acting, ActAs::begin(rights));
  ODDRANK_TRY(const UniqueFd found, find_below(root, path, last));
  return open_found(found, path);
}

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
