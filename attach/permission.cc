#include "attach/permission.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "attach/proc_pids.h"
#include "attach/proc_stat.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::attach {
namespace {

constexpr std::uint64_t kSysPtrace = std::uint64_t{1} << 19U;  // CAP_SYS_PTRACE
constexpr int kMaxTreeDepth = 512;

bool may_trace_all(const AccessFacts& facts) {
  return (facts.self.effective_capabilities & kSysPtrace) != 0;
}

// All three ids of the target must be ours, user and group (an unprivileged sg(1) is enough to
// differ).
bool same_owner(const AccessFacts& facts) {
  const ProcStatus& target = facts.target;
  const ProcStatus& self = facts.self;
  return target.real_uid == self.real_uid && target.effective_uid == self.real_uid &&
         target.saved_uid == self.real_uid && target.real_gid == self.real_gid &&
         target.effective_gid == self.real_gid && target.saved_gid == self.real_gid;
}

bool is_descendant_of_us(pid_t pid) {
  const pid_t self = ::getpid();
  for (int depth = 0; depth < kMaxTreeDepth && pid > 1; ++depth) {
    if (pid == self) {
      return true;
    }
    const auto stat = read_proc_stat(pid);
    if (!stat) {
      return false;
    }
    pid = stat->parent;
  }
  return false;
}

// If a process is not dumpable, the kernel gives the files below /proc/PID to root; the folder
// itself stays the process's own.
bool looks_dumpable(pid_t pid, const ProcStatus& target) {
  struct stat info {};
  const std::string path = process_folder(pid) + "/environ";
  if (::stat(path.c_str(), &info) != 0) {
    return true;
  }
  return info.st_uid == target.effective_uid;
}

std::string user(uid_t uid) {
  return "user " + std::to_string(uid);
}

std::string yama_hint(std::string_view cure) {
  return "Yama's ptrace_scope forbids it: " + std::string(cure) +
         " (`sysctl kernel.yama.ptrace_scope=0` as root allows it for all processes of one user)";
}

struct Text {
  Errc code = Errc::kPermission;
  std::string why;
  std::string hint;
};

Text text_of_dead(AccessBlock block) {
  if (block == AccessBlock::kGone) {
    return {Errc::kGone, "it does not exist",
            "check the pid; inside of a container pids differ from those outside"};
  }
  if (block == AccessBlock::kZombie) {
    return {Errc::kGone, "it has ended, and its parent has not noticed yet (zombie)",
            "look at its parent; there is nothing left to read of the process itself"};
  }
  return {Errc::kUnsupported, "it is a thread of the kernel and has no memory of its own",
          "give the pid of a program"};
}

Text text_of_owner(AccessBlock block, const AccessFacts& facts) {
  const ProcStatus& target = facts.target;
  const ProcStatus& self = facts.self;
  if (block == AccessBlock::kNoCapability) {
    return {
        Errc::kPermission,
        "it belongs to " + user(target.effective_uid) + ", and we are root without CAP_SYS_PTRACE",
        "run oddrank as " + user(target.effective_uid) +
            ", or give the container that capability (--cap-add SYS_PTRACE)"};
  }
  if (block == AccessBlock::kHidden) {
    return {Errc::kPermission,
            "it belongs to " + user(target.effective_uid) + ", we are " + user(self.effective_uid) +
                ", and /proc shows other users' processes by their pids only (hidepid=1)",
            "run oddrank as the owner of the job, or as root (`sudo oddrank ...`)"};
  }
  if (block == AccessBlock::kUserNamespace && facts.in_user_namespace) {
    return {
        Errc::kPermission,
        "it lives in another user namespace than oddrank, which itself runs in one (a rootless "
        "container)",
        "run oddrank outside of its container, as the owner of the job, or as root on the host"};
  }
  if (block == AccessBlock::kUserNamespace) {
    return {Errc::kPermission, "it lives in another user namespace (a rootless container)",
            "run oddrank inside of that container, or as root on the host"};
  }
  std::string why =
      "it belongs to " + user(target.effective_uid) + ", we are " + user(self.effective_uid);
  if (target.effective_uid == self.effective_uid) {
    why =
        "its real, effective and saved user and group ids are not all ours (setuid, setgid or "
        "another group)";
  }
  return {Errc::kPermission, why,
          "run oddrank as the owner of the job, or as root (`sudo oddrank ...`)"};
}

Text text_of_policy(AccessBlock block, const AccessFacts& facts) {
  switch (block) {
    case AccessBlock::kNotDumpable:
      return {Errc::kPermission,
              "it is not dumpable (a setuid program, one with file capabilities or an unreadable "
              "program file, or it asked for that itself)",
              "run oddrank as root (`sudo oddrank ...`)"};
    case AccessBlock::kCapabilities:
      return {Errc::kPermission, "it has capabilities that we do not have",
              "run oddrank as root (`sudo oddrank ...`)"};
    case AccessBlock::kYamaDescendants:
      return {Errc::kPermission,
              "Yama lets a process be read by its ancestors only (ptrace_scope 1)",
              yama_hint("run oddrank as root, or start the job under `oddrank watch`")};
    case AccessBlock::kYamaAdmin:
      return {Errc::kPermission, "Yama lets only administrators read processes (ptrace_scope 2)",
              yama_hint("run oddrank as root")};
    case AccessBlock::kYamaNobody:
      return {Errc::kPermission, "Yama lets nobody read processes (ptrace_scope 3)",
              "only a reboot with another setting of kernel.yama.ptrace_scope helps; ask the "
              "administrator"};
    default:
      if (!facts.profile.empty()) {
        return {Errc::kPermission,
                "the kernel refused, and AppArmor confines oddrank by the profile " + facts.profile,
                "allow `ptrace (read, trace),` in that profile, or run oddrank outside of it"};
      }
      return {
          Errc::kPermission, "the kernel refused, for no reason that can be seen",
          "a seccomp filter or a security module may forbid it: run oddrank as root, outside of "
          "the container"};
  }
}

Text block_text(AccessBlock block, const AccessFacts& facts) {
  switch (block) {
    case AccessBlock::kGone:
    case AccessBlock::kZombie:
    case AccessBlock::kKernelThread:
      return text_of_dead(block);
    case AccessBlock::kOtherUser:
    case AccessBlock::kNoCapability:
    case AccessBlock::kUserNamespace:
    case AccessBlock::kHidden:
      return text_of_owner(block, facts);
    default:
      return text_of_policy(block, facts);
  }
}

// Returns the profile in "docker-default (enforce)"; "" if nothing is enforced, or if the text is
// another security module's. Such names come from the administrator, but are bounded all the same.
std::string enforced_profile(std::string_view attribute) {
  constexpr std::string_view kEnforced = " (enforce)";
  constexpr std::size_t kMaxName = 200;
  const std::string_view text = trim(attribute);
  if (!text.ends_with(kEnforced)) {
    return {};
  }
  return std::string(text.substr(0, text.size() - kEnforced.size()).substr(0, kMaxName));
}

}  // namespace

AccessFacts read_access_facts(pid_t pid) {
  AccessFacts facts;
  facts.pid = pid;
  const auto stat = read_proc_stat(pid);
  const auto target = read_proc_status(pid);
  const auto self = read_proc_status(::getpid());
  if (self) {
    facts.self = *self;
  }
  if (!stat || !target) {
    // With hidepid=1 only the owner may enter a process's folder.
    struct stat folder {};
    if (::stat(("/proc/" + std::to_string(pid)).c_str(), &folder) == 0 &&
        ::access(("/proc/" + std::to_string(pid) + "/stat").c_str(), R_OK) != 0 &&
        errno != ENOENT && errno != ESRCH) {
      facts.exists = facts.hidden = true;
      facts.target.effective_uid = folder.st_uid;
    }
    return facts;
  }
  facts.exists = true;
  facts.state = stat->state;
  facts.kernel_thread = stat->kernel_thread;
  facts.target = *target;
  facts.dumpable = looks_dumpable(pid, *target);
  facts.is_descendant = is_descendant_of_us(pid);
  const auto own_map = read_file("/proc/self/uid_map");
  const auto its_map = read_file("/proc/" + std::to_string(pid) + "/uid_map");
  facts.same_user_namespace = !own_map || !its_map || *own_map == *its_map;
  // The first namespace maps all ids to themselves: "0 0 4294967295".
  facts.in_user_namespace = own_map && split_blanks(trim(*own_map)) !=
                                           std::vector<std::string_view>{"0", "0", "4294967295"};
  facts.profile = enforced_profile(read_file("/proc/self/attr/current", 4096).value_or(""));
  if (const auto scope = read_file("/proc/sys/kernel/yama/ptrace_scope", 16)) {
    facts.yama_scope = parse_number<int>(trim(*scope)).value_or(0);
  }
  return facts;
}

AccessBlock find_block(const AccessFacts& facts) {
  if (!facts.exists || facts.state == 'X') {
    return AccessBlock::kGone;
  }
  if (facts.hidden) {
    return AccessBlock::kHidden;
  }
  if (facts.kernel_thread) {
    return AccessBlock::kKernelThread;
  }
  if (facts.state == 'Z') {
    return AccessBlock::kZombie;
  }
  if (facts.yama_scope >= 3) {
    return AccessBlock::kYamaNobody;
  }
  if (may_trace_all(facts)) {
    // Our capability counts in our own user namespace and below, which uid_map does not show.
    return facts.same_user_namespace ? AccessBlock::kNone : AccessBlock::kUserNamespace;
  }
  if (!same_owner(facts)) {
    if (!facts.same_user_namespace) {
      return AccessBlock::kUserNamespace;
    }
    return facts.self.effective_uid == 0 ? AccessBlock::kNoCapability : AccessBlock::kOtherUser;
  }
  if (!facts.dumpable) {
    return AccessBlock::kNotDumpable;
  }
  if (!facts.same_user_namespace) {
    return AccessBlock::kUserNamespace;
  }
  if ((facts.target.permitted_capabilities & ~facts.self.permitted_capabilities) != 0) {
    return AccessBlock::kCapabilities;
  }
  if (facts.yama_scope == 2) {
    return AccessBlock::kYamaAdmin;
  }
  return facts.yama_scope == 1 && !facts.is_descendant ? AccessBlock::kYamaDescendants
                                                       : AccessBlock::kNone;
}

Error describe_block(AccessBlock block, const AccessFacts& facts, std::string_view operation) {
  const Text text = block_text(block, facts);
  return Error{
      text.code,
      "cannot " + std::string(operation) + " pid " + std::to_string(facts.pid) + ": " + text.why,
      text.hint};
}

Error why_unreadable(pid_t pid, std::string_view operation) {
  const AccessFacts facts = read_access_facts(pid);
  Error error = describe_block(find_block(facts), facts, operation);
  const std::string hidden = facts.exists ? std::string() : hidden_processes();
  if (!hidden.empty()) {
    error.what += ", or it is hidden: " + hidden;
    error.hint = "run oddrank as the owner of the process or as root";
  }
  return error;
}

std::int32_t exit_code_of(const ProcStat& zombie) {
  if (zombie.exit_code != 0) {
    return zombie.exit_code;
  }
  // A zombie has no memory: only the user ids count, or our capability to act as any user
  // (__ptrace_may_access).
  const auto target = read_proc_status(zombie.pid);
  const auto self = read_proc_status(::getpid());
  if (!target || !self) {
    return -1;
  }
  const auto is_ours = [&self](uid_t uid) { return uid == self->effective_uid; };
  const bool same =
      is_ours(target->real_uid) && is_ours(target->effective_uid) && is_ours(target->saved_uid);
  return same || (self->effective_capabilities & kSysPtrace) != 0 ? 0 : -1;
}

Status may_read_our_users() {
  AccessFacts facts = read_access_facts(::getpid());
  facts.is_descendant = false;
  const AccessBlock block = find_block(facts);
  if (block == AccessBlock::kNone) {
    return ok();
  }
  const Text text = block_text(block, facts);
  return fail(
      Error{text.code, "processes of our own user may not be read: " + text.why, text.hint});
}

}  // namespace oddrank::attach
