// Measures the least time that it takes to stop all threads of a process and let them go on:
// `stop_floor PID` seizes and interrupts each, waits for each, reads its registers, detaches it,
// and prints the microseconds from the first request until the last thread was released.
#include <dirent.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

std::vector<pid_t> threads_of(const char* pid) {
  std::vector<pid_t> tids;
  const std::string path = std::string("/proc/") + pid + "/task";
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) {
    return tids;
  }
  while (const dirent* entry = ::readdir(folder)) {
    if (const long tid = std::strtol(entry->d_name, nullptr, 10); tid > 0) {
      tids.push_back(static_cast<pid_t>(tid));
    }
  }
  ::closedir(folder);
  return tids;
}

bool stop_all(const std::vector<pid_t>& tids) {
  for (const pid_t tid : tids) {
    if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0 ||
        ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0) {
      return false;
    }
  }
  for (const pid_t tid : tids) {
    int status = 0;
    user_regs_struct registers{};
    if (::waitpid(tid, &status, __WALL) != tid ||
        ::ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) {
      return false;
    }
  }
  for (const pid_t tid : tids) {
    if (::ptrace(PTRACE_DETACH, tid, nullptr, nullptr) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<pid_t> tids = threads_of(count > 1 ? arguments[1] : "");
  const auto began = std::chrono::steady_clock::now();
  if (tids.empty() || !stop_all(tids)) {
    std::perror("stop_floor");
    return 1;  // its exit releases all of them
  }
  const auto took = std::chrono::steady_clock::now() - began;
  std::printf("%ld\n", static_cast<long>(
                           std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  return 0;
}
