// Explains why a process may not be read, in a sentence with a remedy. The kernel says only
// "operation not permitted"; the reason is deduced from files that every user may read.
//
// The rules come from the kernel's __ptrace_may_access and from Yama: ptrace(2), "Ptrace access
// mode checking".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "base/result.h"

namespace oddrank::attach {

enum class AccessBlock : std::uint8_t {
  kNone = 0,  // nothing that we can see forbids it
  kGone,
  kZombie,           // it has exited; its memory is gone
  kKernelThread,     // it has no memory of its own
  kOtherUser,        // it belongs to another user
  kNoCapability,     // we are root, but without CAP_SYS_PTRACE (a container's default)
  kHidden,           // it belongs to another user, and /proc shows only that it exists
  kUserNamespace,    // it lives in another user namespace
  kNotDumpable,      // it (or its program file) forbids reading
  kCapabilities,     // it has capabilities that we do not have
  kYamaDescendants,  // ptrace_scope 1
  kYamaAdmin,        // ptrace_scope 2
  kYamaNobody,       // ptrace_scope 3
};

// What can be read without any permission.
struct AccessFacts {
  pid_t pid = 0;
  bool exists = false;
  bool hidden = false;  // it exists, but its files in /proc are not shown to us (hidepid=1)
  char state = '?';
  bool kernel_thread = false;
  ProcStatus target;
  ProcStatus self;
  bool same_user_namespace = true;  // as far as uid_map shows
  bool in_user_namespace = false;   // we ourselves are not in the first one
  bool dumpable = true;             // as far as the owner of its /proc files shows
  bool is_descendant = false;       // of us
  int yama_scope = 0;               // also 0 without Yama
  std::string profile;              // of AppArmor, that confines us; "" if there is none
};

// Never fails; fields that cannot be read keep their defaults.
AccessFacts read_access_facts(pid_t pid);

// Returns the first of the kernel's rules that forbids it. Pure.
AccessBlock find_block(const AccessFacts& facts);

// Returns "cannot read pid 4250: it belongs to user 1001, we are user 1000", with a hint on what to
// do. `operation`: "read", "list the files of".
Error describe_block(AccessBlock block, const AccessFacts& facts, std::string_view operation);

// Explains why reading `pid` has just failed: kPermission, kGone, or kUnsupported (a kernel
// thread). Says so if no reason can be found (a seccomp filter, SELinux).
Error why_unreadable(pid_t pid, std::string_view operation = "read");

// Returns the exit code of a zombie; -1 if the kernel hides it from us (it then shows 0).
std::int32_t exit_code_of(const ProcStat& zombie);

// Checks whether we could read a process of our own user that is not our child, as far as is known
// without one. Fails with kPermission and the reason.
Status may_read_our_users();

}  // namespace oddrank::attach
