// Reads any bytes as files of /proc, and as what a process says of itself there: no crash, no hang.
// A process chooses its name, its arguments, its environment and its paths; the kernel writes the
// rest.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/clocks/run_clock.h"
#include "attach/proc_environ.h"
#include "attach/proc_fds.h"
#include "attach/proc_maps.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "attach/proc_task.h"
#include "base/split.h"
#include "ranks/process_role.h"
#include "ranks/rank_identity.h"
#include "ranks/slurm/slurm_step.h"
#include "waits/cgroups.h"
#include "waits/ends/socket_table.h"
#include "waits/file_locks.h"
#include "waits/mounts.h"
#include "waits/node/kernel_log.h"
#include "waits/node/lost_servers.h"
#include "waits/node/node_pressure.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)attach::parse_proc_stat(text);
  (void)attach::parse_proc_status(text);
  (void)attach::parse_proc_maps(text);
  const auto environment = attach::parse_proc_environ(text);
  (void)ranks::identify_rank(environment);
  (void)ranks::is_doubtful(environment);
  (void)ranks::parse_ranks(text);
  (void)ranks::step_of_cgroups(text);
  (void)ranks::step_of_title(text);
  (void)ranks::step_socket(text, "7.0");
  (void)ranks::parse_step_tasks(text);
  std::vector<std::string> arguments;
  for (const std::string_view word : split(text.substr(0, 4096), '\0')) {
    arguments.emplace_back(word);
  }
  (void)ranks::role_of(arguments, text.substr(0, 15));
  (void)ranks::is_python(arguments);
  (void)waits::parse_memory_kill(text);
  (void)waits::parse_gpu_error(text);
  (void)waits::parse_server_word(text);
  (void)waits::parse_oom_kills(text);
  (void)waits::parse_throttling(text);
  (void)waits::parse_pressure(text);
  (void)waits::parse_swap_kib(text);
  (void)waits::parse_major_faults(text);
  (void)attach::parse_fdinfo(text);
  (void)attach::parse_fd_link(3, text);
  (void)attach::parse_proc_syscall(text);
  (void)attach::parse_cpu_pauses(text);
  (void)attach::parse_proc_sched(text);
  (void)waits::mount_of(text, "/data/x");
  (void)waits::cgroup_folder(text, text, "freezer");
  (void)waits::held_locks(text);
  (void)waits::locks_of_fdinfo(text);
  waits::SocketTable table;
  table.add(text);
  return 0;
}
