// /proc/PID/stat: what the kernel shows to all users about a process or thread, even in state D or
// as a zombie. Never blocks on the target's memory. Fields: proc(5).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oddrank::attach {

struct ProcStat {
  pid_t pid = 0;
  std::string name;  // comm; may hold any byte except NUL, even blanks and brackets
  char state = '?';  // R S D T t Z X I
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  bool kernel_thread = false;
  bool forked = false;         // forked and no exec since: runs its parent's program
  std::uint64_t cpu_us = 0;    // user + system, since its start; in steps of a clock tick (10 ms)
  std::uint64_t start_us = 0;  // after boot
  std::int32_t threads = 0;
  int cpu = -1;  // where it last ran, or runs
  // In the form of wait(2). Valid in state Z only, and 0 if we may not read the target.
  std::int32_t exit_code = 0;
  // If the main thread of a process has ended and others live: one of these, with its state in
  // `state`. Else 0.
  pid_t living = 0;
};

// Parses `text` as the kernel wrote it. Fails with kBadData if it is cut or not a stat line.
Result<ProcStat> parse_proc_stat(std::string_view text);

// Reads the stat of a process (or of any thread by its tid). Fails with kGone if it does not exist.
Result<ProcStat> read_proc_stat(pid_t pid);

// Returns the folder in /proc with a process's files: "/proc/7". A main thread that has ended has
// no memory and no files any more, so while other threads live (one of a killed process may be in a
// driver; a main thread may call pthread_exit) it is "/proc/7/task/9", which has the files of
// proc(5) except map_files and a few others.
std::string process_folder(pid_t pid);
// Reads a file of that folder that is not empty while the thread has memory: "environ".
Result<std::string> read_process_file(pid_t pid, const char* name, std::size_t limit);
// Reads the stat of a thread of this very process.
Result<ProcStat> read_thread_stat(pid_t pid, pid_t tid);

}  // namespace oddrank::attach
