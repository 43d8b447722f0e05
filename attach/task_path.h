// Paths of a thread's files in /proc.
#pragma once

#include <sys/types.h>

#include <string>

namespace oddrank::attach {

// Returns "/proc/PID/task/TID/FILE".
inline std::string task_path(pid_t pid, pid_t tid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + file;
}

}  // namespace oddrank::attach
