// Reads any bytes as files of /proc: no crash, no hang. A process chooses its name, its environment
// and its paths; the kernel writes the rest.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attach/proc_environ.h"
#include "attach/proc_fds.h"
#include "attach/proc_maps.h"
#include "attach/proc_sched.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "attach/proc_task.h"
#include "waits/cgroups.h"
#include "waits/ends/socket_table.h"
#include "waits/file_locks.h"
#include "waits/mounts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)attach::parse_proc_stat(text);
  (void)attach::parse_proc_status(text);
  (void)attach::parse_proc_maps(text);
  (void)attach::parse_proc_environ(text);
  (void)attach::parse_fdinfo(text);
  (void)attach::parse_fd_link(3, text);
  (void)attach::parse_proc_syscall(text);
  (void)attach::parse_cpu_pauses(text);
  (void)attach::parse_last_run(text);
  (void)waits::mount_of(text, "/data/x");
  (void)waits::cgroup_folder(text, text, "freezer");
  (void)waits::held_locks(text);
  (void)waits::locks_of_fdinfo(text);
  waits::SocketTable table;
  table.add(text);
  return 0;
}
