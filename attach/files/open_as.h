// The rights with which a file is opened that somebody else has named: those of the process that
// named it, not ours. A node's root reads jobs of users who do not trust each other, and a symbolic
// link in a user's folder must not show him (or the report) a file of root.
//
// Source: credentials(7), setfsuid(2), capabilities(7). All of it is per thread, and the kernel
// checks it at open(2) and connect(2), so threads that stop others keep their own rights.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace oddrank::attach {

struct Rights {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // supplementary
  bool ours = false;          // whoever we are, with our capabilities; the rest does not count
};

// Returns the rights of a process. kGone; kPermission: it runs with the ids of several users, or
// its program is setuid or setgid. The user that started it chose its environment, and has fewer
// rights than it has. (Limit: a process that runs a program of another user by exec after its
// environment was read counts as that user.)
Result<Rights> rights_of(pid_t pid);

// Returns the rights with which something of this owner may lead us to other files: his, if we are
// root and he is not; else our own.
Rights rights_of_owner(uid_t user, gid_t group);

// While it lives, this thread opens files with these rights and without any capability. Move-only;
// the destructor restores what was, also what the kernel resets when ids change: the signal on the
// parent's death, and whether others may examine this process. Not nested.
class ActAs {
 public:
  // kPermission: we are neither that user nor root.
  static Result<ActAs> begin(const Rights& rights);
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;
  ActAs(ActAs&& other) noexcept;
  ActAs& operator=(ActAs&&) = delete;

 private:
  // As capget(2) has them: two words of 32 capabilities each.
  struct Capabilities {
    std::uint32_t effective[2] = {0, 0};
    std::uint32_t permitted[2] = {0, 0};
    std::uint32_t inheritable[2] = {0, 0};
  };

  ActAs() = default;
  Status take(const Rights& rights);
  static bool read_capabilities(Capabilities& capabilities);
  static bool set_capabilities(const Capabilities& capabilities);

  Capabilities had_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  std::vector<gid_t> groups_;
  int death_signal_ = 0;
  int dumpable_ = 1;
  pid_t parent_ = 0;
  bool changed_ids_ = false;
  bool changed_groups_ = false;
  bool dropped_ = false;  // capabilities
};

}  // namespace oddrank::attach
