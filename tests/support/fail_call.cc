// Runs a command and lets one system call of it, or of a process that it starts, fail: the tracer
// of tests/live/faults_test.py. Nothing is preloaded, so a static program is no different.
//
//   fail_call RESULT list COMMAND...
//   fail_call RESULT TASK CALL NUMBER ERRNO COMMAND...
//
// TASK is a process or thread by its descent, the same in every run: 0 is the command, 0.2 its
// second child, 0.2.1 the first of that one. NUMBER counts the task's calls of the number CALL
// from 1. ERRNO 0 makes the call short instead: it reads or writes half of what was asked for.
// Counting begins when the loader of the command is done. Writes to the file RESULT, one fact a
// line:
//
//   calls TASK CALL COUNT       only of "list"
//   hit TASK CALL NUMBER
//   crash TASK SIGNAL           a task died of a signal other than SIGKILL, SIGTERM or SIGPIPE
//   end exit|signal NUMBER MILLISECONDS
//   left TASK                   it still ran five seconds after the end of the command
//   hang                        the command did not end within kPatience; it was killed
//   stuck TASK STATE WHERE      a task of it then: its state, and its system call or kernel
//   function
//
// x86-64 only. Exits with 0 if the command was started, whatever became of it.
#include <elf.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{40};
constexpr std::chrono::seconds kAfterEnd{5};
constexpr long kEveryCall = -1;

struct Fault {
  std::string task;
  long call = kEveryCall;
  long number = 0;
  long error = 0;
};

struct Task {
  std::string name;  // empty until its parent's event names it
  int children = 0;
  bool held = false;      // it stands at its first stop and waits for its name
  bool shortens = false;  // the result of its present call is to be halved
  std::map<long, long> calls;
};

// Makes the kernel report `call`, or every call, to the tracer.
void install_filter(long call) {
  const auto number = static_cast<std::uint32_t>(call);
  sock_filter program[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, static_cast<std::uint8_t>(call == kEveryCall ? 0 : 1), number},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRACE},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  if (call == kEveryCall) {
    program[1] = {BPF_JMP | BPF_JA, 0, 0, 0};
  }
  const sock_fprog filter{4, program};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

std::string line_of(pid_t pid, const char* name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  std::string line;
  std::getline(file, line);
  return line;
}

// Says what a task does, for a person who has to find out why it hangs.
std::string doing(pid_t pid) {
  const std::string stat = line_of(pid, "stat");
  const std::size_t name_end = stat.rfind(") ");
  const std::string state = name_end == std::string::npos ? "gone" : stat.substr(name_end + 2, 1);
  return state + " wchan " + line_of(pid, "wchan") + " call " + line_of(pid, "syscall");
}

class Tracer {
 public:
  Tracer(Fault fault, std::ofstream& result) : fault_(std::move(fault)), result_(result) {}
  bool start(char** command);
  void run();

 private:
  void handle(pid_t pid, int status);
  void handle_event(pid_t pid, int event, int signal);
  void handle_call(pid_t pid, Task& task);
  bool at_entry(pid_t pid);
  void plant_entry(pid_t pid);
  void gone(pid_t pid, int status);
  void name_child(pid_t parent, pid_t child);
  static void go_on(pid_t pid, int signal = 0) { ::ptrace(PTRACE_CONT, pid, 0, signal); }

  Fault fault_;
  std::ofstream& result_;
  std::map<pid_t, Task> tasks_;
  pid_t main_ = -1;
  bool counts_ = false;
  std::uint64_t entry_ = 0;
  long under_entry_ = 0;
  Clock::time_point began_ = Clock::now();
  Clock::time_point until_ = began_ + kPatience;
  bool ended_ = false;
};

bool Tracer::start(char** command) {
  int gate[2];
  if (::pipe(gate) != 0) {
    return false;
  }
  main_ = ::fork();
  if (main_ == 0) {
    char byte = 0;
    ::close(gate[1]);
    if (::read(gate[0], &byte, 1) != 1) {
      ::_exit(125);
    }
    ::close(gate[0]);
    install_filter(fault_.call);
    ::execvp(command[0], command);
    ::_exit(125);
  }
  ::close(gate[0]);
  constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                            PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP |
                            PTRACE_O_TRACESYSGOOD;
  const bool traced = main_ > 0 && ::ptrace(PTRACE_SEIZE, main_, 0, kOptions) == 0;
  tasks_[main_].name = "0";
  const bool told = ::write(gate[1], "x", 1) == 1;
  ::close(gate[1]);
  return traced && told;
}

void Tracer::run() {
  while (!tasks_.empty()) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, __WALL);
    if (pid > 0) {
      handle(pid, status);
    } else if (errno != EINTR) {
      break;
    }
    if (Clock::now() >= until_) {
      if (!ended_) {
        result_ << "hang\n";
      }
      for (const auto& [left, task] : tasks_) {
        result_ << (ended_ ? "left " : "stuck ") << task.name << ' ' << doing(left)
                << (task.held ? " held" : "") << '\n';
        ::kill(left, SIGKILL);
      }
      return;
    }
  }
}

void Tracer::gone(pid_t pid, int status) {
  Task& task = tasks_[pid];
  if (fault_.number == 0) {
    for (const auto& [call, count] : task.calls) {
      result_ << "calls " << task.name << ' ' << call << ' ' << count << '\n';
    }
  }
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal != 0 && signal != SIGKILL && signal != SIGTERM && signal != SIGPIPE) {
    result_ << "crash " << task.name << ' ' << signal << '\n';
  }
  if (pid == main_) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
    result_ << "end " << (signal != 0 ? "signal " : "exit ")
            << (signal != 0 ? signal : WEXITSTATUS(status)) << ' ' << took.count() << '\n';
    ended_ = true;
    until_ = std::min(until_, Clock::now() + kAfterEnd);
  }
  tasks_.erase(pid);
}

void Tracer::handle(pid_t pid, int status) {
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    gone(pid, status);
    return;
  }
  const int signal = WSTOPSIG(status);
  if (const int event = status >> 16; event != 0) {
    handle_event(pid, event, signal);
    return;
  }
  Task& task = tasks_[pid];
  if (signal == (SIGTRAP | 0x80)) {
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, pid, 0, &registers);
    if (std::exchange(task.shortens, false) && static_cast<long>(registers.rax) > 1) {
      registers.rax /= 2;
      ::ptrace(PTRACE_SETREGS, pid, 0, &registers);
    }
    go_on(pid);
    return;
  }
  if (signal == SIGTRAP && pid == main_ && at_entry(pid)) {
    go_on(pid);
    return;
  }
  go_on(pid, signal);
}

void Tracer::name_child(pid_t parent, pid_t child) {
  Task& from = tasks_[parent];
  Task& task = tasks_[child];
  task.name = from.name + "." + std::to_string(++from.children);
  if (std::exchange(task.held, false)) {
    go_on(child);
  }
}

void Tracer::handle_event(pid_t pid, int event, int signal) {
  Task& task = tasks_[pid];
  switch (event) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE: {
      unsigned long child = 0;
      ::ptrace(PTRACE_GETEVENTMSG, pid, 0, &child);
      name_child(pid, static_cast<pid_t>(child));
      break;
    }
    case PTRACE_EVENT_EXEC:
      if (pid == main_ && !counts_) {
        plant_entry(pid);
      }
      break;
    case PTRACE_EVENT_SECCOMP:
      if (counts_) {
        handle_call(pid, task);
        return;
      }
      break;
    case PTRACE_EVENT_STOP:
      if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) {
        ::ptrace(PTRACE_LISTEN, pid, 0, 0);
        return;
      }
      if (task.name.empty()) {
        task.held = true;
        return;
      }
      break;
    default:
      break;
  }
  go_on(pid);
}

void Tracer::handle_call(pid_t pid, Task& task) {
  user_regs_struct registers{};
  ::ptrace(PTRACE_GETREGS, pid, 0, &registers);
  const auto call = static_cast<long>(registers.orig_rax);
  const long number = ++task.calls[call];
  if (call != fault_.call || number != fault_.number || task.name != fault_.task) {
    go_on(pid);
    return;
  }
  result_ << "hit " << task.name << ' ' << call << ' ' << number << std::endl;
  if (fault_.error != 0) {
    registers.orig_rax = ~0ULL;
    registers.rax = static_cast<unsigned long long>(-fault_.error);
  } else if (call == SYS_process_vm_readv || call == SYS_getrandom) {
    task.shortens = true;
    ::ptrace(PTRACE_SYSCALL, pid, 0, 0);
    return;
  } else {
    registers.rdx = std::max<unsigned long long>(registers.rdx / 2, 1);
  }
  ::ptrace(PTRACE_SETREGS, pid, 0, &registers);
  go_on(pid);
}

void Tracer::plant_entry(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/auxv", std::ios::binary);
  Elf64_auxv_t value{};
  while (file.read(reinterpret_cast<char*>(&value), sizeof value) && value.a_type != AT_NULL) {
    if (value.a_type == AT_ENTRY) {
      entry_ = value.a_un.a_val;
    }
  }
  under_entry_ = ::ptrace(PTRACE_PEEKTEXT, pid, entry_, 0);
  constexpr long kTrap = 0xcc;
  ::ptrace(PTRACE_POKETEXT, pid, entry_, (under_entry_ & ~0xffL) | kTrap);
}

bool Tracer::at_entry(pid_t pid) {
  user_regs_struct registers{};
  ::ptrace(PTRACE_GETREGS, pid, 0, &registers);
  if (counts_ || registers.rip != entry_ + 1) {
    return false;
  }
  ::ptrace(PTRACE_POKETEXT, pid, entry_, under_entry_);
  registers.rip = entry_;
  ::ptrace(PTRACE_SETREGS, pid, 0, &registers);
  counts_ = true;
  return true;
}

}  // namespace

int main(int count, char** words) {
  const bool lists = count > 3 && std::strcmp(words[2], "list") == 0;
  if (count < (lists ? 4 : 7)) {
    std::fprintf(stderr, "see the beginning of fail_call.cc\n");
    return 2;
  }
  Fault fault;
  if (!lists) {
    fault = {words[2], std::atol(words[3]), std::atol(words[4]), std::atol(words[5])};
  }
  std::ofstream result(words[1]);
  // waitpid() is interrupted, so that the time limits are noticed.
  struct sigaction alarm {};
  alarm.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &alarm, nullptr);
  const itimerval every{{0, 200'000}, {0, 200'000}};
  Tracer tracer(fault, result);
  if (!tracer.start(words + (lists ? 3 : 6))) {
    std::perror("cannot trace the command");
    return 1;
  }
  ::setitimer(ITIMER_REAL, &every, nullptr);
  tracer.run();
  return 0;
}
