#include "attach/files/open_as.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::attach {
namespace {

constexpr std::size_t kMaxStatusText = std::size_t{1} << 20;  // of a user in thousands of groups
constexpr std::size_t kMaxGroups = 65536;                     // NGROUPS_MAX

std::vector<gid_t> groups_in(std::string_view status) {
  std::vector<gid_t> groups;
  for (const std::string_view line : split(status, '\n')) {
    if (!line.starts_with("Groups:")) {
      continue;
    }
    for (const std::string_view word : split_blanks(line.substr(7))) {
      const auto group = parse_number<gid_t>(word);
      if (group && groups.size() < kMaxGroups) {
        groups.push_back(*group);
      }
    }
    break;  // a name may contain such a line, but the kernel writes newlines in it as "\n"
  }
  return groups;
}

// Returns whether exec(2) gave the process the rights of the program's owner. Never waits for a
// file server (AT_STATX_DONT_SYNC): the file is open as long as the process lives.
bool has_privileged_program(pid_t pid) {
  const std::string path = process_folder(pid) + "/exe";
  struct statx facts {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_MODE, &facts) != 0) {
    return false;  // a kernel thread, or an old kernel
  }
  return (facts.stx_mode & (S_ISUID | S_ISGID)) != 0;
}

// The C library's function would change all threads of this process.
bool set_own_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

bool set_file_ids(uid_t user, gid_t group) {
  // Neither function reports a failure: a second call with an impossible id returns the id in
  // effect.
  ::setfsgid(group);
  ::setfsuid(user);
  constexpr auto kNoChange = static_cast<uid_t>(-1);
  return static_cast<uid_t>(::setfsuid(kNoChange)) == user &&
         static_cast<gid_t>(::setfsgid(kNoChange)) == group;
}

}  // namespace

Result<Rights> rights_of(pid_t pid) {
  const std::string name = "pid " + std::to_string(pid);
  const auto text = read_file("/proc/" + std::to_string(pid) + "/status", kMaxStatusText);
  if (!text) {
    return fail(Errc::kGone, name + " does not exist");
  }
  ODDRANK_TRY(const ProcStatus status, parse_proc_status(*text));
  const bool one_user =
      status.real_uid == status.effective_uid && status.real_uid == status.saved_uid;
  const bool one_group =
      status.real_gid == status.effective_gid && status.real_gid == status.saved_gid;
  if (!one_user || !one_group || has_privileged_program(pid)) {
    return fail(Errc::kPermission,
                name +
                    " runs with the rights of another user than the one who started it: files "
                    "that it names are not opened");
  }
  return Rights{status.real_uid, status.real_gid, groups_in(*text), false};
}

Rights rights_of_owner(uid_t user, gid_t group) {
  return Rights{user, group, {}, user == 0 || ::geteuid() != 0};
}

bool ActAs::read_capabilities(Capabilities& capabilities) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) {
    return false;
  }
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    capabilities.effective[i] = data[i].effective;
    capabilities.permitted[i] = data[i].permitted;
    capabilities.inheritable[i] = data[i].inheritable;
  }
  return true;
}

bool ActAs::set_capabilities(const Capabilities& capabilities) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    data[i] = {capabilities.effective[i], capabilities.permitted[i], capabilities.inheritable[i]};
  }
  return ::syscall(SYS_capset, &header, data) == 0;
}

Result<ActAs> ActAs::begin(const Rights& rights) {
  ActAs acting;
  ODDRANK_TRY_STATUS(acting.take(rights));
  return acting;
}

Status ActAs::take(const Rights& rights) {
  if (rights.ours) {
    return ok();
  }
  if (!read_capabilities(had_)) {
    return fail(errno_code(errno), "cannot read our capabilities: " + errno_text(errno));
  }
  const bool capable = (had_.effective[0] | had_.effective[1]) != 0;
  const bool is_us = rights.user == ::geteuid();
  if (is_us && !capable) {
    return ok();
  }
  ::prctl(PR_GET_PDEATHSIG, &death_signal_);
  dumpable_ = ::prctl(PR_GET_DUMPABLE);
  parent_ = ::getppid();
  constexpr std::uint32_t kWanted = (1U << CAP_SETUID) | (1U << CAP_SETGID);
  if (!is_us && (had_.effective[0] & kWanted) != kWanted) {
    return fail(Errc::kPermission, "its files are opened with the rights of user " +
                                       std::to_string(rights.user) + ", which we do not have");
  }
  if ((had_.effective[0] & kWanted) == kWanted) {
    user_ = ::geteuid();
    group_ = ::getegid();
    const int count = ::getgroups(0, nullptr);
    groups_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    changed_groups_ =
        count >= 0 && ::getgroups(count, groups_.data()) == count && set_own_groups(rights.groups);
    if (!changed_groups_ && !is_us) {  // a user namespace may forbid it, which has one user
      return fail(errno_code(errno), "cannot give up our groups: " + errno_text(errno));
    }
    changed_ids_ = true;
    if (!set_file_ids(rights.user, rights.group)) {
      return fail(Errc::kPermission, "cannot open files as user " + std::to_string(rights.user));
    }
  }
  Capabilities none = had_;
  none.effective[0] = none.effective[1] = 0;
  dropped_ = true;
  if (!set_capabilities(none)) {
    return fail(errno_code(errno), "cannot give up our capabilities: " + errno_text(errno));
  }
  return ok();
}

// Cannot fail: all of it was ours, and is still permitted. If it did, we would have less rights
// than before, never more.
ActAs::~ActAs() {
  if (changed_ids_) {
    (void)set_file_ids(user_, group_);
  }
  if (dropped_) {
    (void)set_capabilities(had_);  // after setfsuid(2), which also changes them
  }
  if (changed_groups_) {
    (void)set_own_groups(groups_);
  }
  if (!dropped_ && !changed_ids_) {
    return;
  }
  if (dumpable_ == 1) {  // prctl(2) refuses 2
    ::prctl(PR_SET_DUMPABLE, 1);
  }
  if (death_signal_ != 0) {
    ::prctl(PR_SET_PDEATHSIG, death_signal_);
    if (::getppid() != parent_) {
      ::raise(death_signal_);
    }
  }
}

ActAs::ActAs(ActAs&& other) noexcept
    : had_(other.had_),
      user_(other.user_),
      group_(other.group_),
      groups_(std::move(other.groups_)),
      death_signal_(other.death_signal_),
      dumpable_(other.dumpable_),
      parent_(other.parent_),
      changed_ids_(std::exchange(other.changed_ids_, false)),
      changed_groups_(std::exchange(other.changed_groups_, false)),
      dropped_(std::exchange(other.dropped_, false)) {}

}  // namespace oddrank::attach
