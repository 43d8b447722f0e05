// Opens a file that a process has named with that process's rights, not ours. A node's root reads
// jobs of users who do not trust each other, and a symbolic link in a user's folder must not show
// them (or the report) a file of root.
//
// Source: credentials(7), setfsuid(2), capabilities(7). The rights are per thread, and the kernel
// checks them at open(2) and connect(2), so threads that stop others keep their own.
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
  bool ours = false;          // our own, with our capabilities; the other fields do not count
};

// Returns the rights of a process. kGone; kPermission: it runs with the ids of several users, or
// its program is setuid or setgid. The user that started it chose its environment, and has fewer
// rights. (Limit: if a process executes another user's program after its environment was read, it
// counts as that user.)
Result<Rights> rights_of(pid_t pid);

// Returns the rights for opening files to which something of this owner leads us: the owner's, if
// we are root and the owner is not; else our own.
Rights rights_of_owner(uid_t user, gid_t group);

// While it exists, this thread opens files with these rights and without any capability. Move-only;
// the destructor restores the former state, also what the kernel resets when ids change: the signal
// on the parent's death, and whether others may examine this process. Not nested.
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
