// /proc/PID/status: owner, tracer, pid namespaces, context switches, pending signals. Every user
// may read it, even for a process in state D.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank::attach {

// The text of a user in thousands of groups is long.
inline constexpr std::size_t kMaxStatusBytes = 65536;

struct ProcStatus {
  // Real, effective and saved ids, in our user namespace (65534 if they have no number there).
  uid_t real_uid = 0;
  uid_t effective_uid = 0;
  uid_t saved_uid = 0;
  gid_t real_gid = 0;
  gid_t effective_gid = 0;
  gid_t saved_gid = 0;
  char state = '?';
  pid_t process = 0;           // Tgid
  pid_t tracer = 0;            // 0: not traced
  std::vector<pid_t> ns_pids;  // NSpid: our namespace's first, its own last
  std::uint64_t blocked = 0;   // SigBlk
  std::uint64_t permitted_capabilities = 0;
  std::uint64_t effective_capabilities = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
};

// Parses the text; a missing line leaves its field at 0. Fails with kBadData if there is no Uid
// line.
Result<ProcStatus> parse_proc_status(std::string_view text);

// Reads the status of a process, or of any thread by its tid. Fails with kGone if it does not
// exist.
Result<ProcStatus> read_proc_status(pid_t pid);

}  // namespace oddrank::attach
